import dataclasses
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from vit.config import PRESETS, ViTConfig
from vit.data import normalise
from vit.trace import BlockTrace, ForwardTrace, trace_image

TRACE_NAMES = [
    "image", "patches", "patch_embeddings", "cls_token", "position_embeddings", "tokens", "blocks",
    "cls_out", "logits", "probabilities", "prediction",
]
BLOCK_NAMES = [
    "resid_pre", "ln1", "q", "k", "v", "scores", "pattern", "heads", "attn_out", "resid_mid", "ln2",
    "mlp_hidden", "mlp_out", "resid_post",
]


@pytest.fixture
def trace(small_model, digit):
    return trace_image(small_model, digit)


def arrays(trace):
    """Every array of a trace, by its name."""
    found = {name: value for name, value in vars(trace).items() if isinstance(value, np.ndarray)}
    for number, block in enumerate(trace.blocks):
        found |= {f"blocks[{number}].{name}": value for name, value in vars(block).items()}
    return found


def assert_same(one, other):
    assert one.prediction == other.prediction
    ours, theirs = arrays(one), arrays(other)
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


# What a trace holds


def test_names_are_those_that_pages_and_outside_checks_use():
    assert [field.name for field in dataclasses.fields(ForwardTrace)] == TRACE_NAMES
    assert [field.name for field in dataclasses.fields(BlockTrace)] == BLOCK_NAMES


@pytest.mark.parametrize(
    ("config", "image_shape"),
    [(PRESETS["article"], (28, 28)), (PRESETS["article"], (28, 28, 1)), (PRESETS["cifar"], (32, 32, 3))],
)
def test_shapes_are_the_documented_ones(config, image_shape, lively):
    T, D, M = config.tokens, config.width, config.mlp_width
    h, d_k = config.heads, config.head_width
    image = np.random.default_rng(0).integers(0, 256, image_shape, dtype=np.uint8)
    trace = trace_image(lively(config), image)
    assert {name: array.shape for name, array in arrays(trace).items() if "[" not in name} == {
        "image": image_shape, "patches": (T - 1, config.patch_values), "patch_embeddings": (T - 1, D),
        "cls_token": (D,), "position_embeddings": (T, D), "tokens": (T, D), "cls_out": (D,),
        "logits": (10,), "probabilities": (10,),
    }
    assert len(trace.blocks) == config.depth
    per_head, stream, square = (h, T, d_k), (T, D), (h, T, T)
    for block in trace.blocks:
        assert {name: array.shape for name, array in vars(block).items()} == {
            "resid_pre": stream, "ln1": stream, "q": per_head, "k": per_head, "v": per_head,
            "scores": square, "pattern": square, "heads": per_head, "attn_out": stream,
            "resid_mid": stream, "ln2": stream, "mlp_hidden": (T, M), "mlp_out": stream,
            "resid_post": stream,
        }


def test_image_is_the_picture_and_all_else_float32(trace, digit):
    np.testing.assert_array_equal(trace.image, digit)
    for name, array in arrays(trace).items():
        assert array.dtype == (np.uint8 if name == "image" else np.float32), name


# Identities between what it holds


def test_logits_are_the_models(small_model, trace, digit):
    with torch.inference_mode():
        np.testing.assert_array_equal(trace.logits, small_model(normalise(digit[None]))[0].numpy())


def test_probabilities_are_the_softmax_of_the_logits(trace):
    exponentials = np.exp(trace.logits - trace.logits.max())
    close(trace.probabilities, exponentials / exponentials.sum())
    assert trace.prediction == trace.probabilities.argmax()
    assert type(trace.prediction) is int


def test_patches_are_the_normalised_pixels_in_reading_order(trace, digit):
    pixels = digit.reshape(4, 7, 4, 7).transpose(0, 2, 1, 3).reshape(16, 49)
    close(trace.patches, (pixels / 255 - 0.1307) / 0.3081)


def test_embeddings_are_a_convolution_of_the_image(small_model, trace, digit):
    projection = small_model.embedding.projection
    with torch.inference_mode():
        convolved = F.conv2d(
            normalise(digit[None]), projection.weight.view(-1, 1, 7, 7), projection.bias, stride=7
        )
    close(trace.patch_embeddings, convolved[0].flatten(1).T.numpy())


def test_tokens_are_cls_and_embeddings_with_their_positions(trace):
    sequence = np.concatenate([trace.cls_token[None], trace.patch_embeddings])
    np.testing.assert_array_equal(trace.tokens, sequence + trace.position_embeddings)


def test_the_residual_stream_only_ever_gets_additions(trace):
    stream = trace.tokens
    for block in trace.blocks:
        np.testing.assert_array_equal(block.resid_pre, stream)
        np.testing.assert_array_equal(block.resid_mid, block.resid_pre + block.attn_out)
        np.testing.assert_array_equal(block.resid_post, block.resid_mid + block.mlp_out)
        stream = block.resid_post


def test_scores_are_scaled_products_of_queries_and_keys(trace):
    for block in trace.blocks:
        close(block.scores, block.q @ block.k.transpose(0, 2, 1) / np.sqrt(8))


def test_rows_of_pattern_are_softmax_and_sum_to_1(trace):
    for block in trace.blocks:
        close(block.pattern.sum(-1), 1)
        exponentials = np.exp(block.scores)
        close(block.pattern, exponentials / exponentials.sum(-1, keepdims=True))


def test_heads_are_values_weighted_by_pattern_and_mixed_into_attn_out(small_model, trace):
    for block, module in zip(trace.blocks, small_model.blocks, strict=True):
        close(block.heads, block.pattern @ block.v)
        side_by_side = np.concatenate(list(block.heads), axis=-1)
        with torch.inference_mode():
            close(block.attn_out, module.attention.out_proj(torch.tensor(side_by_side)).numpy())


@torch.inference_mode()
def test_norms_mlp_and_head_are_what_the_model_makes_of_the_stream(small_model, trace):
    def applied(module, array):
        return module(torch.tensor(array)).numpy()

    for block, module in zip(trace.blocks, small_model.blocks, strict=True):
        close(block.ln1, applied(module.norm1, block.resid_pre))
        close(block.ln2, applied(module.norm2, block.resid_mid))
        close(block.mlp_hidden, F.gelu(module.expand(torch.tensor(block.ln2))).numpy())
        close(block.mlp_out, applied(module.contract, block.mlp_hidden))
    close(trace.cls_out, applied(small_model.norm, trace.blocks[-1].resid_post[0]))
    close(trace.logits, applied(small_model.head, trace.cls_out))


# A value of its own


def test_nothing_in_a_trace_can_be_changed(trace):
    with pytest.raises(dataclasses.FrozenInstanceError):
        trace.prediction = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        trace.blocks[0].scores = None
    assert isinstance(trace.blocks, tuple)
    for name, array in arrays(trace).items():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        assert not array.flags.writeable, name


def test_a_pickled_trace_comes_back_the_same(trace):
    assert_same(pickle.loads(pickle.dumps(trace)), trace)


def test_a_trace_outlives_changes_of_model_and_image(small_model, digit):
    trace = trace_image(small_model, digit)
    before = pickle.loads(pickle.dumps(trace))
    with torch.no_grad():
        for parameter in small_model.parameters():
            parameter.zero_()
    digit[...] = 0
    assert_same(trace, before)


def test_tracing_leaves_model_and_image_as_they_were(small_model, digit):
    weights = {name: value.clone() for name, value in small_model.state_dict().items()}
    image = digit.copy()
    first = trace_image(small_model, digit)
    assert_same(trace_image(small_model, digit), first)
    np.testing.assert_array_equal(digit, image)
    torch.testing.assert_close(small_model.state_dict(), weights, rtol=0, atol=0)


def test_visitors_who_share_a_model_do_not_meet(small_model):
    random = np.random.default_rng(1)
    images = random.integers(0, 256, (16, 28, 28), dtype=np.uint8)
    alone = [trace_image(small_model, image) for image in images]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda image: trace_image(small_model, image), images))
    for one, other in zip(alone, together, strict=True):
        assert_same(one, other)


@pytest.mark.parametrize(
    ("image", "sentence"),
    [
        (np.zeros((28, 28)), "uint8"),  # from 0 to 1, perhaps: all black if taken as it is
        (np.zeros((32, 32), np.uint8), r"shape \(B, 1, 28, 28\)"),
        (np.zeros((28, 28, 3), np.uint8), r"shape \(B, 1, 28, 28\)"),
        (np.zeros((28, 28, 4), np.uint8), "1 channel .grey. or 3 .colour., not 4"),
    ],
)
def test_an_image_of_another_kind_is_refused(image, sentence, small_model):
    with pytest.raises(ValueError, match=sentence):
        trace_image(small_model, image)


def test_other_numbers_of_classes_are_traced_too(lively, digit):
    config = ViTConfig(patch_size=14, width=16, depth=1, heads=1, classes=3)
    assert trace_image(lively(config), digit).probabilities.shape == (3,)
