import numpy as np
import pytest
import torch

from vit.config import ViTConfig
from vit.data import normalise
from vit.interventions import (
    AttentionOff,
    CausalMask,
    HeadsOff,
    MaskPatches,
    MlpOff,
    PositionsOff,
    ScalingOff,
    ShufflePatches,
)
from vit.trace import trace_image

TOKENS, HEADS, BLOCKS = 17, 4, 3


@pytest.fixture
def trace(small_model, digit):
    def trace_with(*interventions, image=digit):
        return trace_image(small_model, image, *interventions)

    return trace_with


def with_other_pixels(image, patch):
    changed = image.copy()
    row, column = 7 * (patch // 4), 7 * (patch % 4)
    changed[row : row + 7, column : column + 7] = 255 - changed[row : row + 7, column : column + 7]
    return changed


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def same_logits(one, other):
    return np.allclose(one.logits, other.logits, rtol=0, atol=1e-4)


# Masked patches


def test_nobody_looks_at_a_masked_patch(trace):
    for block in trace(MaskPatches({2, 15})).blocks:
        assert (block.pattern[:, :, [3, 16]] == 0).all()
        close(block.pattern.sum(-1), 1)


def test_pixels_of_a_masked_patch_do_not_matter(trace, digit):
    changed = with_other_pixels(digit, 5)
    assert not same_logits(trace(), trace(image=changed))
    assert same_logits(trace(MaskPatches([5])), trace(MaskPatches([5]), image=changed))


def test_pixels_of_other_patches_still_matter(trace, digit):
    changed = with_other_pixels(digit, 6)
    assert not same_logits(trace(MaskPatches([5])), trace(MaskPatches([5]), image=changed))


def test_with_all_patches_masked_cls_looks_at_itself_and_the_image_is_lost(trace, digit):
    everything = MaskPatches(range(16))
    blind = trace(everything)
    for block in blind.blocks:
        close(block.pattern[:, :, 0], 1)
    assert same_logits(blind, trace(everything, image=255 - digit))


def test_masking_nothing_changes_nothing(trace):
    np.testing.assert_array_equal(trace(MaskPatches([])).logits, trace().logits)


# Heads off


def test_heads_that_are_off_give_nothing_and_their_neighbours_what_they_gave(trace):
    plain, changed = trace().blocks, trace(HeadsOff({1: [0, 2]})).blocks
    assert (changed[1].heads[[0, 2]] == 0).all()
    np.testing.assert_array_equal(changed[1].heads[[1, 3]], plain[1].heads[[1, 3]])
    np.testing.assert_array_equal(changed[1].pattern, plain[1].pattern)
    np.testing.assert_array_equal(changed[0].resid_post, plain[0].resid_post)
    assert not np.allclose(changed[1].attn_out, plain[1].attn_out)
    assert not np.allclose(changed[2].heads, plain[2].heads)


def test_with_all_heads_off_attention_adds_only_its_bias(trace, small_model):
    changed = trace(HeadsOff({0: range(HEADS)})).blocks[0]
    bias = small_model.blocks[0].attention.out_proj.bias.detach().numpy()
    close(changed.attn_out, np.broadcast_to(bias, changed.attn_out.shape))


def test_attention_that_is_off_adds_nothing_at_all(trace):
    changed = trace(AttentionOff([1])).blocks[1]
    assert (changed.attn_out == 0).all()
    np.testing.assert_array_equal(changed.resid_mid, changed.resid_pre)


def test_heads_of_several_blocks_are_off_together(trace):
    changed = trace(HeadsOff({0: [3], 2: [1]})).blocks
    off = [[(head == 0).all() for head in block.heads] for block in changed]
    assert np.argwhere(off).tolist() == [[0, 3], [2, 1]]


# MLP off


def test_an_mlp_that_is_off_adds_nothing(trace):
    plain, changed = trace().blocks, trace(MlpOff([1])).blocks
    assert (changed[1].mlp_out == 0).all()
    np.testing.assert_array_equal(changed[1].resid_post, changed[1].resid_mid)
    np.testing.assert_array_equal(changed[1].resid_mid, plain[1].resid_mid)
    np.testing.assert_array_equal(changed[0].mlp_out, plain[0].mlp_out)
    assert (changed[2].mlp_out != 0).any()


# Positions and order


def test_without_positions_tokens_are_cls_and_bare_embeddings(trace):
    changed = trace(PositionsOff())
    assert (changed.position_embeddings == 0).all()
    np.testing.assert_array_equal(changed.tokens[0], changed.cls_token)
    np.testing.assert_array_equal(changed.tokens[1:], changed.patch_embeddings)


def test_shuffled_patches_are_the_same_patches_in_the_order_told(trace):
    plain, shuffle = trace(), ShufflePatches(seed=3)
    changed, order = trace(shuffle), shuffle.order(16).numpy()
    assert sorted(order) == list(range(16))
    assert (order != np.arange(16)).any()
    np.testing.assert_array_equal(changed.patches, plain.patches[order])
    close(changed.patch_embeddings, plain.patch_embeddings[order])
    np.testing.assert_array_equal(changed.position_embeddings, plain.position_embeddings)
    np.testing.assert_array_equal(changed.image, plain.image)


def test_the_seed_decides_the_order(trace):
    np.testing.assert_array_equal(trace(ShufflePatches(3)).logits, trace(ShufflePatches(3)).logits)
    assert not np.array_equal(ShufflePatches(3).order(16), ShufflePatches(4).order(16))


def test_only_positions_tell_a_picture_from_its_shuffled_self(trace):
    assert not same_logits(trace(ShufflePatches(3)), trace())
    for order in ((PositionsOff(), ShufflePatches(3)), (ShufflePatches(3), PositionsOff())):
        close(trace(*order).logits, trace(PositionsOff()).logits)


# Scaling and causal mask


def test_without_scaling_scores_are_bare_products(trace, small_model):
    plain, changed = trace(), trace(ScalingOff(small_model.config))
    for block in changed.blocks:
        close(block.scores, block.q @ block.k.transpose(0, 2, 1))
    close(changed.blocks[0].scores, plain.blocks[0].scores * np.sqrt(small_model.config.head_width))
    assert changed.blocks[0].pattern.max(-1).mean() > plain.blocks[0].pattern.max(-1).mean()


def test_under_a_causal_mask_nobody_looks_ahead(trace):
    for block in trace(CausalMask()).blocks:
        assert (block.pattern[:, *np.triu_indices(TOKENS, 1)] == 0).all()
        assert (block.pattern[:, *np.tril_indices(TOKENS)] > 0).all()
        close(block.pattern.sum(-1), 1)
        close(block.pattern[:, 0, 0], 1)


def test_under_a_causal_mask_the_prediction_knows_nothing_of_the_image(trace, digit):
    np.testing.assert_allclose(
        trace(CausalMask()).logits, trace(CausalMask(), image=255 - digit).logits, rtol=0, atol=1e-6
    )


def test_under_a_causal_mask_a_patch_knows_only_those_before_it(trace, digit):
    plain = trace(CausalMask()).blocks[-1].resid_post
    changed = trace(CausalMask(), image=with_other_pixels(digit, 9)).blocks[-1].resid_post
    moved = np.abs(changed - plain).max(-1) > 1e-4
    assert moved.tolist() == [token >= 10 for token in range(TOKENS)]


# Together


def test_interventions_combine_and_each_keeps_its_promise(trace, small_model):
    together = trace(
        ShufflePatches(1), PositionsOff(), ScalingOff(small_model.config), MaskPatches([4]), CausalMask(),
        HeadsOff({0: [1]}), MlpOff([2]),
    )
    assert (together.position_embeddings == 0).all()
    for block in together.blocks:
        assert (block.pattern[:, :, 5] == 0).all()
        assert (block.pattern[:, *np.triu_indices(TOKENS, 1)] == 0).all()
        close(block.pattern.sum(-1), 1)
        seen = np.isfinite(block.scores)
        close(block.scores[seen], (block.q @ block.k.transpose(0, 2, 1))[seen])
    assert (together.blocks[0].heads[1] == 0).all()
    assert (together.blocks[2].mlp_out == 0).all()
    assert np.isfinite(together.logits).all()


def test_the_order_in_which_they_are_named_does_not_matter(trace, small_model):
    changes = [
        MaskPatches([0, 7]), CausalMask(), ScalingOff(small_model.config), HeadsOff({2: [0]}), MlpOff([0])
    ]
    np.testing.assert_array_equal(trace(*changes).logits, trace(*reversed(changes)).logits)


def test_two_of_a_kind_add_up(trace):
    np.testing.assert_array_equal(
        trace(MaskPatches([1]), MaskPatches([8])).logits, trace(MaskPatches([1, 8])).logits
    )


def test_without_attention_and_mlps_cls_never_hears_of_the_image(trace, digit):
    off = AttentionOff(range(BLOCKS)), MlpOff(range(BLOCKS))
    np.testing.assert_array_equal(trace(*off).logits, trace(*off, image=255 - digit).logits)


@pytest.mark.parametrize(
    "intervention",
    [MaskPatches([3]), HeadsOff({1: [0]}), AttentionOff([1]), MlpOff([1]), PositionsOff(), ShufflePatches(0),
     ScalingOff(ViTConfig(width=32, heads=4)), CausalMask()],
    ids=lambda intervention: type(intervention).__name__,
)
def test_each_acts_on_a_batch_as_on_one_image_and_leaves_the_model_alone(intervention, small_model, digit):
    images = np.stack([digit, 255 - digit])
    with torch.inference_mode():
        plain = small_model(normalise(images))
        changed = small_model(normalise(images), intervention)
        for logits, image in zip(changed, images, strict=True):
            close(logits, trace_image(small_model, image, intervention).logits)
        assert not torch.allclose(changed, plain, atol=1e-4)
        torch.testing.assert_close(small_model(normalise(images)), plain, rtol=0, atol=0)


def test_heads_that_are_off_stay_as_they_were_for_whoever_else_holds_them():
    value = torch.ones(1, HEADS, TOKENS, 8)
    assert (HeadsOff({1: [0]})("heads", 1, value)[:, 0] == 0).all()
    assert (value == 1).all()
