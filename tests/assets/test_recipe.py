import numpy as np
import pytest
import torch

from assets.explorer.recipe import augment, handwriting, lessons, teacher, train
from vit import data
from vit.config import ViTConfig
from vit.model import VisionTransformer


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("digit", [1, 7, 9])
def test_a_restyled_digit_has_more_ink_and_is_centred_again(digit):
    images, labels = data.load("mnist", "train")
    for number in np.flatnonzero(labels == digit)[:5]:
        styled = handwriting.restyled(images[number], digit, np.random.default_rng(1))
        assert styled.shape == (28, 28)
        columns = styled.sum(0) @ np.arange(28) / styled.sum()
        assert columns == pytest.approx(13.5, abs=1)
        assert not np.array_equal(styled, images[number])


def test_only_digits_of_the_same_class_take_a_digit_s_place(generator):
    labels = torch.tensor([1, 2] * 200)
    pictures = torch.zeros(400, 1, 28, 28)
    lessons.restyle(pictures, labels, {1: torch.ones(3, 1, 28, 28)}, generator)
    replaced = pictures.amax((1, 2, 3)).bool()
    assert not replaced[labels == 2].any()
    assert 0.2 < replaced[labels == 1].float().mean() < 0.5


def test_patches_are_left_out_but_never_cls_and_empty_ones_first(generator):
    model = VisionTransformer(ViTConfig(width=32, depth=1, heads=4)).eval()
    image = torch.zeros(1, 1, 28, 28)
    image[0, 0, 12:16, 12:16] = 1  # patch 25, counted from 1
    seen = {}
    leave_out = train.keep_patches(1, generator)

    def probe(name, block, value):
        value = leave_out(name, block, value)
        seen[name, block] = value
        return value

    model(image, probe)
    everything = model.embedding(image, lambda name, block, value: value)
    assert torch.equal(seen["tokens", None], everything[:, [0, 25]])


def test_rewritten_digits_keep_their_range_and_follow_the_seed():
    images = torch.tensor(data.load("mnist", "validation")[0][:8])[:, None].float() / 255
    first, again = (augment.rewrite(images, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first, again)
    assert first.min() >= 0
    assert first.max() <= 1
    assert not torch.equal(first, images)


def test_mild_rewriting_changes_less():
    images = torch.tensor(data.load("mnist", "validation")[0][:200])[:, None].float() / 255
    changes = [
        (augment.rewrite(images, torch.Generator().manual_seed(0), *strengths) - images).abs().mean()
        for strengths in ((0.0, 0.5), (0.0, 1.0), (0.5, 1.0), (1.0, 1.0))
    ]
    assert changes == sorted(changes)


def test_each_cycle_warms_up_and_cools_down():
    def rate(step):
        return train.rate(step, steps_per_epoch=2000)

    first = 2000 * len(train.CYCLES[0].epochs)
    both = first + 2000 * len(train.CYCLES[1].epochs)
    assert rate(0) < rate(500) < rate(1200)
    assert rate(first - 1) < 1e-8 < rate(first) < rate(first + 1000)
    assert rate(both - 1) < 1e-8


def test_a_teacher_is_trained_once_and_says_how_likely_each_digit_is(tmp_path, monkeypatch):
    monkeypatch.setattr(teacher, "train", lambda *_: teacher.network())
    first = teacher.teacher(tmp_path, None, seed=0)
    monkeypatch.delattr(teacher, "train")
    again = teacher.teacher(tmp_path, None, seed=0)
    images = torch.randn(4, 1, 28, 28)
    assert torch.equal(teacher.opinion([first], images), teacher.opinion([again], images))
    assert torch.allclose(teacher.opinion([first], images).sum(1), torch.ones(4))


def test_teachers_agree_on_the_mean_of_their_opinions():
    one, other = (teacher.network().eval() for _ in range(2))
    images = torch.randn(4, 1, 28, 28)
    halfway = (one(images).softmax(1) + other(images).softmax(1)) / 2
    assert torch.allclose(teacher.opinion([one, other], images), halfway, atol=1e-6)


def test_hard_images_come_up_as_often_as_asked(generator):
    order = torch.arange(1000, 2000)
    lessons.prefer(order, torch.tensor([3, 5]), 0.3, generator)
    assert 0.25 < (order < 1000).float().mean() < 0.35
    assert {3, 5} == set(order[order < 1000].tolist())


def test_scribbles_are_ink_in_the_middle():
    pictures = augment.scribbles(3, seed=1)
    assert pictures.shape == (3, 28, 28)
    assert (pictures.max((1, 2)) > 128).all()
