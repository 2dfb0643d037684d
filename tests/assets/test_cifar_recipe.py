"""How the model for photos is made, tried on pictures of chance: CIFAR-10 itself is not shipped."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from assets.cifar.recipe import beginning, lessons, muon, train
from vit import data
from vit.config import PRESETS
from vit.model import VisionTransformer

SMALL = replace(PRESETS["cifar"], width=32, depth=2, heads=4)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.fixture
def pictures(monkeypatch):
    random = np.random.default_rng(0)
    images, labels = random.integers(0, 256, (300, 32, 32, 3), dtype=np.uint8), random.integers(0, 10, 300)
    monkeypatch.setattr(data, "load", lambda dataset, split: (images, labels))
    monkeypatch.setitem(PRESETS, "cifar", SMALL)
    return images


def test_a_moved_picture_is_a_window_of_the_widened_one(generator):
    widened = torch.arange(2 * 3 * 12 * 12).view(2, 3, 12, 12)
    for picture, whole in zip(lessons.move(widened, 8, generator), widened, strict=True):
        windows = whole.unfold(1, 8, 1).unfold(2, 8, 1).flatten(1, 2).transpose(0, 1)
        assert any(torch.equal(picture, window) for window in windows)


def test_light_differs_from_picture_to_picture_and_stays_in_range(generator):
    lit = lessons.light(torch.full((50, 3, 4, 4), 0.9), generator)
    assert lit.amax() <= 1
    assert len(lit.amax((1, 2, 3)).unique()) > 10
    assert torch.equal(lit[:, :, :1, :1].expand_as(lit), lit)


def test_an_epoch_shows_each_picture_once_about_half_of_them_mirrored(pictures, generator, monkeypatch):
    monkeypatch.setattr(lessons, "LIGHT", 0.0)
    monkeypatch.setattr(lessons, "MOST_PIXELS", 0)
    seen = torch.cat([images for images, _ in lessons.Lessons().epoch(generator)])
    shown, there = data.as_pictures(seen), {picture.tobytes() for picture in pictures}
    upright = sum(picture.tobytes() in there for picture in shown)
    assert {min(p.tobytes(), p[:, ::-1].tobytes()) for p in shown} == \
           {min(p.tobytes(), p[:, ::-1].tobytes()) for p in pictures}
    assert 120 < upright < 180


@pytest.mark.parametrize("shape", [(16, 16), (16, 48), (48, 16)])
def test_a_step_of_muon_goes_alike_in_all_directions_of_the_gradient(shape, generator):
    matrices = torch.randn(3, *shape, generator=generator)
    found = muon.orthogonal(matrices)
    u, _, v = torch.linalg.svd(matrices, full_matrices=False)
    values = torch.linalg.svdvals(found)
    assert values.min() > 0.3
    assert values.max() < 1.3
    assert ((u.mT @ found @ v.mT).diagonal(dim1=1, dim2=2) - values.mean()).abs().max() < 0.6
    assert torch.nn.functional.cosine_similarity(found.flatten(1), (u @ v).flatten(1)).min() > 0.95


def test_at_first_a_token_looks_at_what_is_like_itself_and_takes_a_part_of_it_away():
    torch.manual_seed(0)
    model = VisionTransformer(PRESETS["cifar"])
    beginning.begin(model)
    attention = model.requires_grad_(False).blocks[0].attention
    likeness = attention.W_q.weight[:32].T @ attention.W_k.weight[:32]
    others = likeness - torch.diag(likeness.diagonal())
    assert likeness.diagonal().mean() > 5 * others.abs().mean()
    passed_on = attention.out_proj.weight @ attention.W_v.weight
    assert float(passed_on.trace() / 128) == pytest.approx(-beginning.MIXING, abs=0.1)


def test_neighbours_begin_with_positions_more_alike_than_those_far_apart():
    waves = beginning.waves(8, 128)
    alike = waves @ waves.T
    assert alike[9, 10] > alike[9, 12] > alike[9, 63]
    assert alike[9, 10] == pytest.approx(float(alike[9, 17]), rel=1e-5)


def test_so_many_patches_are_kept_others_for_each_picture_and_always_cls(generator):
    tokens = torch.arange(65.0).view(1, 65, 1).expand(20, 65, 2)
    kept = train.keep_patches(24, generator)("tokens", None, tokens)
    assert kept.shape == (20, 25, 2)
    assert (kept[:, 0] == 0).all()
    assert all(len(row[:, 0].unique()) == 25 for row in kept)
    assert len({tuple(row[:, 0].sort().values.tolist()) for row in kept}) == 20


def test_the_rate_warms_up_and_cools_down():
    rates = [train.rate(step, 6000) for step in (0, 150, 299, 3000, 5999)]
    assert rates[0] < rates[1] < rates[2] > rates[3] > rates[4]
    assert rates[4] < 1e-8


def test_a_run_that_goes_on_is_the_run_that_was_not_stopped(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(train, "PATCHES_KEPT", [24, 64])
    ways = {}
    for name, stops in (("whole", False), ("stopped", True)):
        folder, lesson = tmp_path / name, lessons.Lessons()
        folder.mkdir()
        run = train.new_run(folder)
        train.train_epoch(run, 0, lesson)
        if stops:
            run = train.new_run(folder)
            assert run.epochs_done == 1
        train.train_epoch(run, 1, lesson)
        ways[name] = run
    for kind in ("model", "averaged"):
        one, other = (getattr(ways[name], kind).state_dict() for name in ways)
        assert all(torch.equal(one[name], other[name]) for name in one)
