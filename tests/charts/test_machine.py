import json

import numpy as np
import pytest

from vit import explain
from vit.charts import machine
from vit.config import PRESETS, ViTConfig
from vit.trace import trace_image

COLOURED = ViTConfig(image_size=32, channels=3, patch_size=8, width=24, depth=2, heads=3)
DIGITS = tuple("0123456789")


def no_number(word):
    raise AssertionError(f"{word} is no JSON")


def unpacked(data: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """As machine.js reads it."""
    length = int.from_bytes(data[:4], "little")
    facts = json.loads(data[4 : 4 + length], parse_constant=no_number)
    arrays = {}
    for name, (kind, offset, *shape) in facts["arrays"].items():
        assert offset % 4 == 0
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(data, f"<{kind}", count, 4 + length + offset).reshape(shape)
    assert length % 4 == 0
    return facts, arrays


@pytest.fixture(params=["small", "coloured"])
def model(request, small_model, lively):
    return small_model if request.param == "small" else lively(COLOURED)


@pytest.fixture
def trace(model, digit):
    if model.config.channels == 1:
        return trace_image(model, digit)
    return trace_image(model, np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8))


@pytest.mark.parametrize("token", [0, 4])
def test_what_is_packed_is_the_trace(model, trace, token):
    facts, arrays = unpacked(machine.whole(trace, model, token, DIGITS, "digit").packed(1, 2))
    assert (facts["layer"], facts["head"], facts["token"], facts["prediction"]) == (1, 2, token, trace.prediction)
    np.testing.assert_array_equal(arrays["image"].squeeze(), trace.image)
    np.testing.assert_array_equal(arrays["tokensRow"], trace.tokens[token])
    for layer, block in enumerate(trace.blocks):
        for name in ("resid_pre", "ln1", "attn_out", "resid_mid", "ln2", "mlp_hidden", "mlp_out"):
            np.testing.assert_array_equal(arrays[name][layer], getattr(block, name)[token])
        for name in ("q", "k", "v", "heads", "scores"):
            np.testing.assert_array_equal(arrays[name][layer], getattr(block, name)[:, token])
        for head in range(model.config.heads):
            looked = arrays["looked"][layer, head]
            np.testing.assert_array_equal(arrays["keys"][layer, head], block.k[head, looked])
            np.testing.assert_array_equal(arrays["values"][layer, head], block.v[head, looked])
    np.testing.assert_array_equal(arrays["leaving"], trace.blocks[-1].resid_post[token])
    np.testing.assert_array_equal(arrays["y"], trace.cls_out)
    np.testing.assert_array_equal(arrays["logits"], trace.logits)
    np.testing.assert_array_equal(arrays["probabilities"], trace.probabilities)
    np.testing.assert_allclose(arrays["lens"], explain.logit_lens(trace, model).probabilities, rtol=1e-6)


def test_colours_of_tokens_lie_in_the_order_of_their_numbers(model, trace):
    _, arrays = unpacked(machine.whole(trace, model, 0, DIGITS, "digit").packed(0, 0))
    for name, values in (("tokens", trace.tokens), ("positions", trace.position_embeddings)):
        assert (np.diff(arrays[name].ravel()[values.ravel().argsort()].astype(int)) >= 0).all()
        assert (np.sign(arrays[name]) * np.sign(values) >= 0).all()


def test_the_article_s_shape_takes_at_most_300_kilobytes(lively, digit):
    model = lively(PRESETS["article"])
    for token in (0, 20):
        packed = machine.whole(trace_image(model, digit), model, token, DIGITS, "digit").packed(9, 15)
        assert len(packed) <= 300_000


def test_another_choice_of_layer_or_head_is_the_same_picture(model, trace):
    picture = machine.whole(trace, model, 0, DIGITS, "digit")
    one, other = (unpacked(picture.packed(*chosen))[0] for chosen in ((0, 0), (1, 2)))
    assert one["identity"] == other["identity"]
    another = unpacked(machine.whole(trace, model, 1, DIGITS, "digit").packed(0, 0))[0]
    assert another["identity"] != one["identity"]


def test_weights_that_training_has_broken_can_be_looked_at(small_model, digit):
    small_model.blocks[1].expand.weight.detach()[:] = np.nan
    trace = trace_image(small_model, digit)
    _, arrays = unpacked(machine.whole(trace, small_model, 0, DIGITS, "digit").packed(0, 0))
    assert np.isnan(arrays["mlp_hidden"][1]).all()
    assert np.isfinite(arrays["mlp_hidden"][0]).all()


def test_of_very_many_classes_the_most_probable_have_a_bar(lively, digit):
    model = lively(ViTConfig(patch_size=14, width=8, depth=1, heads=1, classes=300))
    trace = trace_image(model, digit)
    facts, arrays = unpacked(machine.whole(trace, model, 0, DIGITS, "digit").packed(0, 0))
    assert sorted(facts["classes"]) == facts["classes"] == sorted(np.argsort(-trace.probabilities)[:10].tolist())
    assert facts["names"] == list(map(str, facts["classes"]))
    np.testing.assert_array_equal(arrays["logits"], trace.logits[facts["classes"]])
