import numpy as np

from vit.measures import confusion


def test_confusion_counts_what_was_read_as_what():
    counts = confusion(np.array([7, 7, 7, 1]), np.array([7, 1, 1, 1]), 10)
    assert counts.shape == (10, 10)
    assert (counts[7, 7], counts[7, 1], counts[1, 1], counts.sum()) == (1, 2, 1, 4)
