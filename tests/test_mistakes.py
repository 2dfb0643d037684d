from collections import Counter

import torch

from vit import checkpoints, data, mistakes


def test_what_it_takes_each_digit_for_is_what_the_shipped_model_answers():
    model = checkpoints.load("explorer")
    images, labels = data.load("mnist", "test")
    wrong = mistakes.indices()
    with torch.inference_mode():
        read = model(data.normalise(images[wrong])).argmax(1)
    pairs = Counter(zip(labels[wrong].tolist(), read.tolist(), strict=True))
    found = mistakes.taken_for(model)
    assert {(one.meant, one.read): one.times for one in found} == pairs
    assert [one.times for one in found] == sorted(pairs.values(), reverse=True)
