import ast
import copy
import inspect
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.peers import torchvision_vit
from vit import model as model_file
from vit.config import PRESETS, ViTConfig
from vit.import_weights import to_torchvision
from vit.model import MultiHeadSelfAttention, PatchEmbedding, VisionTransformer, untouched


def random_images(config, count=2, seed=1):
    shape = (count, config.channels, config.image_size, config.image_size)
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def attention(small_model):
    return small_model.blocks[1].attention


@pytest.fixture
def tokens(small_model):
    return torch.randn(2, 17, small_model.config.width, generator=torch.Generator().manual_seed(2))


# Against code that we did not write


@pytest.mark.parametrize("preset", PRESETS)
@torch.inference_mode()
def test_the_same_weights_in_torchvision_give_the_same_logits(preset, lively):
    config = PRESETS[preset]
    ours = lively(config)
    with torch.device("meta"):
        theirs = torchvision_vit(config)
    theirs.load_state_dict(to_torchvision(ours), assign=True)
    images = random_images(config, count=1 if preset == "base" else 3)
    logits = ours(images)
    torch.testing.assert_close(logits, theirs.eval()(images), rtol=0, atol=1e-5)
    assert logits.std() > 0.1  # else agreement would say little


@torch.inference_mode()
def test_attention_is_scaled_dot_product_attention(attention, tokens):
    q, k, v = (attention.split(layer(tokens)) for layer in (attention.W_q, attention.W_k, attention.W_v))
    seen = {}

    def record(name, value):
        seen[name] = value
        return value

    attention(tokens, tokens, record)
    torch.testing.assert_close(seen["heads"], F.scaled_dot_product_attention(q, k, v), rtol=0, atol=1e-5)
    assert seen["pattern"].max() > 0.5  # heads that look somewhere


@torch.inference_mode()
def test_attention_is_torchs_multihead_attention(attention, tokens):
    width = tokens.shape[-1]
    theirs = nn.MultiheadAttention(width, attention.heads, batch_first=True).eval()
    layers = (attention.W_q, attention.W_k, attention.W_v)
    theirs.load_state_dict({
        "in_proj_weight": torch.cat([layer.weight for layer in layers]),
        "in_proj_bias": torch.cat([layer.bias for layer in layers]),
        "out_proj.weight": attention.out_proj.weight,
        "out_proj.bias": attention.out_proj.bias,
    })
    patterns = []

    def keep_pattern(name, value):
        if name == "pattern":
            patterns.append(value)
        return value

    ours = attention(tokens, tokens, keep_pattern)
    expected, expected_pattern = theirs(tokens, tokens, tokens, average_attn_weights=False)
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-5)
    torch.testing.assert_close(patterns[0], expected_pattern, rtol=0, atol=1e-5)


@pytest.mark.parametrize("config", [PRESETS["article"], PRESETS["cifar"]])
@torch.inference_mode()
def test_cutting_and_multiplying_is_a_convolution(config, lively):
    embedding = lively(config).embedding
    images = random_images(config)
    P = config.patch_size
    kernel = embedding.projection.weight.view(config.width, config.channels, P, P)
    convolved = F.conv2d(images, kernel, embedding.projection.bias, stride=P)
    expected = convolved.flatten(2).transpose(1, 2)
    torch.testing.assert_close(embedding.projection(embedding.cut(images)), expected, rtol=0, atol=1e-5)


def test_patches_are_cut_in_reading_order():
    embedding = PatchEmbedding(ViTConfig(image_size=4, patch_size=2, channels=3, width=4, heads=1))
    images = torch.arange(48).view(1, 3, 4, 4)
    patches = embedding.cut(images)
    assert patches[0, 0].tolist() == [0, 1, 4, 5, 16, 17, 20, 21, 32, 33, 36, 37]
    assert patches[0, 1, :4].tolist() == [2, 3, 6, 7]
    assert patches[0, 2, :4].tolist() == [8, 9, 12, 13]


def test_attention_is_made_of_linear_layers_products_and_softmax_alone():
    tree = ast.parse(inspect.getsource(model_file))
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not names & {"MultiheadAttention", "scaled_dot_product_attention", "TransformerEncoderLayer"}
    children = dict(MultiHeadSelfAttention(PRESETS["quick"]).named_children())
    assert list(children) == ["W_q", "W_k", "W_v", "out_proj"]
    assert {type(child) for child in children.values()} == {nn.Linear}


# Building


@pytest.fixture(scope="module")
def fresh():
    torch.manual_seed(0)
    return VisionTransformer(PRESETS["article"])


def test_weights_cls_and_positions_start_normal_with_deviation_0_02(fresh):
    for name, parameter in fresh.named_parameters():
        if parameter.dim() == 2 or "cls" in name:
            four_errors = 4 * 0.02 / math.sqrt(parameter.numel())
            assert parameter.mean().item() == pytest.approx(0, abs=four_errors), name
            assert parameter.std().item() == pytest.approx(0.02, abs=four_errors / math.sqrt(2)), name


def test_biases_start_at_0_and_norms_at_1(fresh):
    for name, parameter in fresh.named_parameters():
        if name.endswith("bias"):
            assert (parameter == 0).all(), name
        elif "norm" in name:
            assert (parameter == 1).all(), name


def test_every_norm_has_the_papers_epsilon_and_gelu_is_exact(fresh):
    modules = list(fresh.modules())
    norms = [module for module in modules if isinstance(module, nn.LayerNorm)]
    assert len(norms) == 2 * 10 + 1
    assert {norm.eps for norm in norms} == {1e-6}
    assert {module.approximate for module in modules if isinstance(module, nn.GELU)} == {"none"}


def test_the_same_seed_builds_the_same_model(fresh):
    torch.manual_seed(0)
    again = VisionTransformer(PRESETS["article"])
    torch.testing.assert_close(again.state_dict(), fresh.state_dict(), rtol=0, atol=0)


def test_a_generator_of_its_own_decides_alone_and_leaves_torchs_seed_as_it_is():
    one, again, another = (
        VisionTransformer(PRESETS["quick"], torch.Generator().manual_seed(seed)).state_dict() for seed in (1, 1, 2)
    )
    torch.testing.assert_close(one, again, rtol=0, atol=0)
    assert not torch.equal(one["head.weight"], another["head.weight"])
    before = torch.initial_seed()
    VisionTransformer(PRESETS["quick"], torch.Generator().manual_seed(before + 1))
    assert torch.initial_seed() == before


# Running


@pytest.mark.parametrize("shape", [(1, 28, 28), (2, 3, 28, 28), (2, 1, 32, 32), (2, 1, 28, 14)])
def test_images_of_another_shape_are_refused_with_the_right_one(shape, small_model):
    with pytest.raises(ValueError, match=r"reads images of shape \(B, 1, 28, 28\), not \("):
        small_model(torch.zeros(shape))


@torch.inference_mode()
def test_images_of_a_batch_do_not_know_of_each_other(small_model):
    images = random_images(small_model.config, count=4)
    together = small_model(images)
    alone = torch.cat([small_model(image[None]) for image in images])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-5)


@torch.inference_mode()
def test_a_probe_that_only_looks_changes_nothing(small_model):
    images = random_images(small_model.config)
    torch.testing.assert_close(small_model(images, untouched), small_model(images), rtol=0, atol=0)


def test_training_skips_only_what_the_head_does_not_read(small_model):
    images, labels = random_images(small_model.config), torch.tensor([3, 7])
    normed, logits, gradients = [], [], []
    small_model.blocks[-1].norm2.register_forward_hook(lambda norm, inputs, output: normed.append(output))
    small_model.train()
    for probe in (None, untouched):
        small_model.zero_grad()
        logits.append(small_model(images, probe))
        F.cross_entropy(logits[-1], labels).backward()
        gradients.append({name: parameter.grad for name, parameter in small_model.named_parameters()})
    unseen, watched = normed
    assert unseen.shape[1] == 1
    assert watched.shape[1] == small_model.config.tokens
    torch.testing.assert_close(unseen, watched[:, :1], rtol=0, atol=1e-6)
    torch.testing.assert_close(*logits, rtol=0, atol=1e-6)
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-6)


@torch.inference_mode()
def test_what_a_probe_gives_back_is_what_the_model_goes_on_with(small_model):
    """Each value replaced by random numbers must change the logits: none is computed only to be shown."""
    images = random_images(small_model.config)
    logits = small_model(images)
    visited = set()

    def note(name, block, value):
        visited.add((name, block))
        return value

    small_model(images, note)
    assert len(visited) == 7 + 14 * 3
    for target in visited:

        def replace(name, block, value, target=target):
            return torch.randn_like(value) if (name, block) == target else value

        assert not torch.allclose(small_model(images, replace), logits), target


def everything_on(model):
    return [
        {name: dict(value) if isinstance(value, dict) else value for name, value in vars(module).items()}
        for module in model.modules()
    ]


@pytest.mark.parametrize("training", [False, True])
def test_a_forward_pass_leaves_nothing_on_the_model(training, small_model):
    small_model.train(training)
    before, weights = everything_on(small_model), copy.deepcopy(small_model.state_dict())
    small_model(random_images(small_model.config), lambda name, block, value: value.clone())
    assert everything_on(small_model) == before
    torch.testing.assert_close(small_model.state_dict(), weights, rtol=0, atol=0)


def test_training_reaches_every_weight(small_model):
    small_model.train()
    F.cross_entropy(small_model(random_images(small_model.config)), torch.tensor([3, 7])).backward()
    for name, parameter in small_model.named_parameters():
        assert parameter.grad is not None, name
        # A key's bias shifts all scores of a row alike, which softmax does not see.
        assert parameter.grad.abs().max() > 0 or name.endswith("W_k.bias"), name


def test_dropout_acts_in_training_alone(lively):
    config = ViTConfig(patch_size=7, width=32, depth=2, heads=4, dropout=0.3)
    model, images = lively(config), random_images(config)
    assert not torch.equal(model.train()(images), model(images))
    model.eval()
    assert torch.equal(model(images), model(images))
    undropped = VisionTransformer(ViTConfig(patch_size=7, width=32, depth=2, heads=4))
    undropped.load_state_dict(model.state_dict())
    assert torch.equal(undropped.train()(images, untouched), model(images))


def test_dropout_leaves_the_share_that_it_should(lively):
    config = ViTConfig(patch_size=7, width=64, depth=1, heads=4, dropout=0.25)
    model, dropped = lively(config).train(), {}

    def measure(name, block, value):
        dropped[name] = (value == 0).float().mean().item()
        return value

    torch.manual_seed(0)
    model(random_images(config, count=20), measure)
    for name in ("tokens", "attn_out", "mlp_out"):
        assert dropped[name] == pytest.approx(0.25, abs=0.02), name
    assert dropped["scores"] == dropped["heads"] == 0
