"""Each variant differs from the paper in what it says, and in nothing else."""

from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import nn

from tests.support.models import SMALL, make_lively
from vit import checkpoints, config, data
from vit.checkpoints import BadCheckpoint
from vit.config import PRESETS, TrainConfig, ViTConfig
from vit.interventions import CausalMask, PositionsOff, ScalingOff, ShufflePatches
from vit.model import VisionTransformer, untouched
from vit.reports import Validation, of_kind
from vit.trace import trace_image
from vit.training import Training, initial_model, load_examples, train
from vit.variants import VARIANTS, SmallCNN, build

TRANSFORMERS = [name for name in VARIANTS if name != "cnn"]


def shaped(name, shape=SMALL):
    return replace(shape, variant=name)


def with_weights_of(model, name):
    variant = build(shaped(name, model.config))
    variant.load_state_dict(model.state_dict())
    return variant.eval()


def some_images(count=3):
    return torch.randn(count, 1, 28, 28, generator=torch.Generator().manual_seed(1))


def close(ours, theirs, atol=1e-4):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=atol)


def differ(ours, theirs):
    return not torch.allclose(ours, theirs, rtol=0, atol=1e-3)


# All of them


def test_the_config_knows_the_names_of_all_variants_and_each_says_what_differs():
    assert tuple(VARIANTS) == config.VARIANTS
    assert all(described.difference.endswith(".") for described in VARIANTS.values())


def test_an_unknown_variant_is_refused_by_name():
    with pytest.raises(ValueError, match=r"variant must be one of paper, post-norm, .* not 'prenorm'"):
        ViTConfig(variant="prenorm")


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("preset", ["quick", "cifar"])
def test_the_closed_form_counts_the_weights_of_every_variant(name, preset):
    shape = shaped(name, PRESETS[preset])
    with torch.device("meta"):
        model = build(shape)
    assert sum(value.numel() for value in model.state_dict().values()) == shape.parameters


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_variant_begins_with_the_weights_of_the_paper(name):
    paper = initial_model(TrainConfig(model=SMALL, seed=3)).state_dict()
    ours = initial_model(TrainConfig(model=shaped(name), seed=3)).state_dict()
    fixed = {"embedding.position_embeddings"} if name in ("no-positions", "sine-positions") else set()
    assert ours.keys() == paper.keys()
    assert {key for key in paper if not ours[key].equal(paper[key])} == fixed


def test_the_initial_weights_of_the_paper_are_what_they_were():
    """Drawn as a fresh model draws them, without any detour through variants."""
    torch.manual_seed(5)
    fresh = VisionTransformer(SMALL).state_dict()
    ours = initial_model(TrainConfig(model=SMALL, seed=5)).state_dict()
    assert all(ours[name].equal(value) for name, value in fresh.items())


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_answers_the_same_while_it_learns(name):
    model = make_lively(shaped(name)) if name != "cnn" else build(shaped(name))
    close(model.train()(some_images()), model.eval()(some_images()))


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_each_but_the_paper_answers_differently_from_the_paper(name, small_model):
    other = with_weights_of(small_model, name)
    if name.endswith("positions"):
        other.embedding.position_embeddings.copy_(build(shaped(name)).embedding.position_embeddings)
    apart = (other(some_images()) - small_model(some_images())).abs().max()
    if name == "paper":
        assert apart == 0
    else:
        assert apart > {"tanh-gelu": 1e-6, "eps-1e-12": 0}.get(name, 1e-2)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_the_trace_of_a_variant_is_whole_and_ends_in_its_logits(name, digit):
    model = make_lively(shaped(name))
    trace = trace_image(model, digit)
    close(torch.tensor(trace.logits), model(data.normalise(digit[None]))[0])
    for block in trace.blocks:
        assert block.resid_post.shape == (SMALL.tokens, SMALL.width)
        np.testing.assert_allclose(block.pattern.sum(-1), 1, rtol=1e-5)
    for one, following in zip(trace.blocks, trace.blocks[1:], strict=False):
        np.testing.assert_array_equal(one.resid_post, following.resid_pre)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_saved_and_comes_back_as_what_it_was(name, tmp_path):
    model = build(shaped(name)).eval()
    checkpoints.save(model, tmp_path / "model.safetensors")
    loaded = checkpoints.load_any(tmp_path / "model.safetensors")
    assert type(loaded) is VARIANTS[name].builder
    assert loaded.config == model.config
    assert loaded(some_images()).equal(model(some_images()))


def test_a_checkpoint_of_old_that_names_no_variant_is_the_paper(tmp_path):
    path, model = tmp_path / "old.safetensors", make_lively(SMALL)
    known = {name: value for name, value in asdict(SMALL).items() if name != "variant"}
    checkpoints.write_tensors(path, dict(model.state_dict()), {"config": known})
    assert type(checkpoints.load(path)) is VisionTransformer
    old = asdict(TrainConfig(model=SMALL))
    del old["model"]["variant"], old["augmentation"]
    assert TrainConfig.from_dict(old) == TrainConfig(model=SMALL)


def test_a_checkpoint_of_a_variant_that_we_do_not_know_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "future.safetensors"
    checkpoints.write_tensors(path, {}, {"config": asdict(SMALL) | {"variant": "rotary"}})
    with pytest.raises(BadCheckpoint, match=r"future\.safetensors .* variant must be one of .*rotary"):
        checkpoints.load(path)
    checkpoints.save(make_lively(SMALL), path)
    save_file(load_file(path), path, {"config": '{"variant": ["cnn"]}'})
    with pytest.raises(BadCheckpoint, match="variant must be one of"):
        checkpoints.load(path)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_trains_and_goes_on_from_a_snapshot_bit_for_bit(name):
    tiny = ViTConfig(patch_size=14, width=8, depth=2, heads=2, variant=name)
    settings = TrainConfig(model=tiny, train_images=60, batch_size=20, epochs=2, validation_images=50,
                           initialisation="pytorch-randn")
    examples = load_examples(settings)
    examples = replace(examples, validation_images=examples.validation_images[:60],
                       validation_labels=examples.validation_labels[:60], glance=np.arange(50))
    undisturbed = Training(settings, examples)
    verdicts = of_kind(list(train(settings, training=undisturbed)), Validation)
    assert verdicts[-1].loss != verdicts[0].loss
    first, second = Training(settings, examples), Training(settings, examples)
    for _ in range(2):
        first.take_step()
    second.restore(*first.snapshot())
    again = of_kind(list(train(settings, training=second)), Validation)
    assert again[-1] == verdicts[-1]


# One by one


def test_post_norm_is_the_encoder_layer_of_pytorch():
    model = make_lively(shaped("post-norm"))
    block = model.blocks[0]
    layer = nn.TransformerEncoderLayer(SMALL.width, SMALL.heads, SMALL.mlp_width, dropout=0, activation="gelu",
                                       layer_norm_eps=1e-6, batch_first=True, norm_first=False).eval()
    attention = block.attention
    pairs = {
        "self_attn.in_proj_weight": torch.cat([part.weight for part in (attention.W_q, attention.W_k, attention.W_v)]),
        "self_attn.in_proj_bias": torch.cat([part.bias for part in (attention.W_q, attention.W_k, attention.W_v)]),
    }
    for theirs, ours in {"self_attn.out_proj": attention.out_proj, "linear1": block.expand, "linear2": block.contract,
                         "norm1": block.norm1, "norm2": block.norm2}.items():
        pairs |= {f"{theirs}.weight": ours.weight, f"{theirs}.bias": ours.bias}
    layer.load_state_dict(pairs)
    z = torch.randn(2, SMALL.tokens, SMALL.width, generator=torch.Generator().manual_seed(0))
    close(block(z, lambda name, value: value), layer(z))


def test_mean_pooling_reads_the_mean_of_the_patches_and_cls_has_no_say(digit):
    model = make_lively(shaped("mean-pooling"))
    trace = trace_image(model, digit)
    mean = torch.tensor(trace.blocks[-1].resid_post[1:].mean(0))
    close(torch.tensor(trace.logits), model.head(model.norm(mean)))
    before = model(some_images())
    model.embedding.cls_token.data += 10
    close(model(some_images()), before, atol=0)


def test_without_positions_shuffled_patches_give_the_same_logits(digit):
    for name, same in (("no-positions", True), ("paper", False)):
        model = make_lively(shaped(name))
        one, other = trace_image(model, digit), trace_image(model, digit, ShufflePatches(4))
        assert np.allclose(one.logits, other.logits, rtol=0, atol=1e-4) is same


def test_without_positions_is_the_paper_with_positions_off(small_model):
    blind = with_weights_of(small_model, "no-positions")
    blind.embedding.position_embeddings.zero_()
    close(blind(some_images()), small_model(some_images(), PositionsOff()), atol=0)


def test_sine_positions_follow_the_formula_of_attention_is_all_you_need():
    positions = initial_model(TrainConfig(model=shaped("sine-positions"), initialisation="pytorch-randn")).embedding
    for token in (0, 1, 7, 16):
        for i in (0, 3, 15):
            angle = token / 10_000 ** (2 * i / SMALL.width)
            assert positions.position_embeddings[token, 2 * i] == pytest.approx(np.sin(angle), abs=1e-6)
            assert positions.position_embeddings[token, 2 * i + 1] == pytest.approx(np.cos(angle), abs=1e-6)


@pytest.mark.parametrize("name", ["no-positions", "sine-positions"])
def test_fixed_positions_are_not_learned(name):
    settings = TrainConfig(model=shaped(name), train_images=64, epochs=1)
    training = Training(settings, load_examples(settings))
    before = {key: value.clone() for key, value in training.model.state_dict().items()}
    training.take_step()
    after = training.model.state_dict()
    assert after["embedding.position_embeddings"].equal(before["embedding.position_embeddings"])
    assert not after["head.weight"].equal(before["head.weight"])


def test_no_scaling_is_the_paper_with_scaling_off(small_model):
    close(with_weights_of(small_model, "no-scaling")(some_images()),
          small_model(some_images(), ScalingOff(SMALL)))


def test_causal_is_the_paper_with_a_causal_mask(small_model):
    close(with_weights_of(small_model, "causal")(some_images()), small_model(some_images(), CausalMask()), atol=0)


@pytest.mark.parametrize("name", ["causal", "causal-last"])
def test_under_a_causal_mask_no_token_depends_on_later_patches(name, digit):
    model, changed = make_lively(shaped(name)), digit.copy()
    changed[21:, 21:] = 255 - changed[21:, 21:]  # the last patch
    one, other = trace_image(model, digit), trace_image(model, changed)
    for ours, theirs in zip(one.blocks, other.blocks, strict=True):
        np.testing.assert_array_equal(ours.resid_post[:-1], theirs.resid_post[:-1])
        assert not np.allclose(ours.resid_post[-1], theirs.resid_post[-1])


def test_causal_cls_sees_nothing_of_the_image_but_the_last_token_does():
    blind, seeing = (make_lively(shaped(name))(some_images()) for name in ("causal", "causal-last"))
    close(blind[0], blind[1], atol=0)
    assert differ(seeing[0], seeing[1])


def test_causal_last_reads_the_last_token(digit):
    model = make_lively(shaped("causal-last"))
    trace = trace_image(model, digit)
    close(torch.tensor(trace.logits), model.head(model.norm(torch.tensor(trace.blocks[-1].resid_post[-1]))))


def test_without_residuals_a_block_hands_on_what_attention_and_mlp_made(digit):
    for block in trace_image(make_lively(shaped("no-residuals")), digit).blocks:
        np.testing.assert_array_equal(block.resid_mid, block.attn_out)
        np.testing.assert_array_equal(block.resid_post, block.mlp_out)


def test_tanh_gelu_is_the_approximation_of_pytorch(digit):
    model = make_lively(shaped("tanh-gelu"))
    block, seen = model.blocks[1], trace_image(model, digit).blocks[1]
    x = block.expand(torch.tensor(seen.ln2))
    close(torch.tensor(seen.mlp_hidden), F.gelu(x, approximate="tanh"), atol=1e-6)
    by_hand = x / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))
    close(torch.tensor(seen.mlp_hidden), by_hand, atol=1e-5)


def test_pixels_from_0_to_1_go_in_as_a_file_has_them(digit):
    trace = trace_image(make_lively(shaped("pixels-0-1")), digit)
    np.testing.assert_allclose(trace.patches[0], digit[:7, :7].ravel() / 255, atol=1e-6)


# The CNN


@pytest.mark.parametrize("preset", ["quick", "tiny", "cifar", "article"])
def test_the_cnn_has_about_as_many_weights_and_never_more(preset):
    paper, cnn = PRESETS[preset], shaped("cnn", PRESETS[preset])
    assert 0.93 * paper.parameters < cnn.parameters <= paper.parameters
    assert cnn._cnn_parameters(cnn.cnn_width + 1) > paper.parameters


def test_the_cnn_does_not_mind_where_in_the_middle_a_digit_is():
    model = build(shaped("cnn")).eval()
    image = torch.zeros(1, 1, 28, 28)
    image[..., 12:16, 12:16] = 1
    close(model(image.roll((4, -4), (2, 3))), model(image), atol=1e-4)  # the rim of the image shines in a little
    assert (model(image.roll(14, 2)) - model(image)).abs().max() > 5e-4


def test_the_cnn_cannot_be_opened_and_says_so(digit, tmp_path):
    model = build(shaped("cnn"))
    assert isinstance(model, SmallCNN)
    with pytest.raises(ValueError, match="a CNN has no patches, tokens or attention"):
        trace_image(model, digit)
    with pytest.raises(ValueError, match="a CNN has no patches, tokens or attention"):
        model(some_images(), untouched)
    checkpoints.save(model, tmp_path / "cnn.safetensors")
    with pytest.raises(BadCheckpoint, match=r"cnn.safetensors cannot be opened here: a CNN has no"):
        checkpoints.load(tmp_path / "cnn.safetensors")
