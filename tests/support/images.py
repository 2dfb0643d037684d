"""Images for tests."""

import numpy as np


def some_images(n, *shape):
    labels = np.arange(n) % 10
    images = np.random.default_rng(n).integers(0, 256, (n, *shape), dtype=np.uint8)
    return images, labels
