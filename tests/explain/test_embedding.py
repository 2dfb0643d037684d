"""Embedding."""


import numpy as np
import pytest
import torch

from vit import explain
from vit.config import ViTConfig
from vit.interventions import PositionsOff
from vit.trace import trace_image

COLOURED = ViTConfig(image_size=32, channels=3, patch_size=8, width=24, depth=2, heads=3)


def test_position_similarity_leaves_cls_out_and_is_one_with_oneself(trace):
    similarity = explain.position_similarity(trace.position_embeddings)
    a, b = trace.position_embeddings[3].astype(float), trace.position_embeddings[8].astype(float)
    assert similarity.shape == (16, 16)
    assert similarity[2, 7] == pytest.approx(a @ b / np.sqrt(a @ a) / np.sqrt(b @ b))
    np.testing.assert_allclose(np.diagonal(similarity), 1)


def test_positions_that_are_off_resemble_nothing(small_model, digit):
    trace = trace_image(small_model, digit, PositionsOff())
    assert (explain.position_similarity(trace.position_embeddings) == 0).all()


@pytest.mark.parametrize("config", [ViTConfig(patch_size=7, width=32, depth=1, heads=4), COLOURED])
def test_conv2d_with_the_same_weights_is_the_same_up_to_rounding(lively, config):
    shape = (config.image_size,) * 2 + ((3,) if config.channels == 3 else ())
    image = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    model = lively(config)
    assert explain.conv2d_difference(model, image) < 1e-5
    model.embedding.cut = lambda images: torch.zeros(1, config.patches, config.patch_values)
    assert explain.conv2d_difference(model, image) > 0.1  # the comparison would notice


def test_neighbours_are_the_patches_that_touch():
    positions = [(row, column) for row in range(3) for column in range(3)]
    touching = [[max(abs(a - c), abs(b - d)) == 1 for c, d in positions] for a, b in positions]
    similarity = np.where(touching, 0.5, -0.25)
    assert explain.neighbour_similarity(similarity) == (0.5, -0.25)


def test_the_most_alike_is_never_the_patch_itself():
    similarity = np.array([[1.0, -0.2, 0.3], [-0.2, 1.0, -0.9], [0.3, -0.9, 1.0]])
    np.testing.assert_array_equal(explain.most_alike(similarity), [2, 0, 0])
