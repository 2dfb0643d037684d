"""What other makers wrote gives their own logits in our hand-built model: positions and the order of patches too."""

import pytest
import torch

from tests.support.makers import SHAPES, as_transformers, some_pictures, timm_vit, torchvision_vit, write
from vit import checkpoints, import_weights

LITTLE = {"width": 192, "heads": 3, "depth": 2, "size": 64, "classes": 10}


def through_our_import(path, out):
    import_weights.save(import_weights.import_file(path), out)
    return checkpoints.load(out)


def same_logits(theirs, ours, atol=1e-4):
    pictures = some_pictures(ours.config)
    with torch.inference_mode():
        expected, got = theirs(pictures), ours(pictures)
    assert expected.std() > 0.1
    torch.testing.assert_close(got, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("size", SHAPES)
def test_torchvisions_weights_give_torchvisions_logits(size, tmp_path):
    width, heads = SHAPES[size]
    theirs = torchvision_vit(width, heads)
    path = write(tmp_path / "theirs", theirs.state_dict())
    ours = through_our_import(path, tmp_path / "ours.safetensors")
    assert (ours.config.width, ours.config.heads, ours.config.classes) == (width, heads, 1000)
    same_logits(theirs, ours)


@pytest.mark.parametrize("size", SHAPES)
def test_timms_weights_give_timms_logits(size, tmp_path):
    width, heads = SHAPES[size]
    theirs = timm_vit(width, heads)
    path = write(tmp_path / "theirs", theirs.state_dict())
    same_logits(theirs, through_our_import(path, tmp_path / "ours.safetensors"))


@pytest.mark.parametrize("size", SHAPES)
def test_weights_under_the_names_of_transformers_give_the_logits_of_the_same_model(size, tmp_path):
    width, heads = SHAPES[size]
    theirs = timm_vit(width, heads, epsilon=1e-12)
    path = write(tmp_path / "theirs", as_transformers(theirs.state_dict()),
                 config={"model_type": "vit", "num_attention_heads": heads, "layer_norm_eps": 1e-12})
    ours = through_our_import(path, tmp_path / "ours.safetensors")
    assert ours.config.variant == "eps-1e-12"
    same_logits(theirs, ours)


def test_the_epsilon_of_transformers_matters_where_tokens_are_almost_the_same(tmp_path):
    """Else the test above would not notice it."""
    theirs = timm_vit(**LITTLE, epsilon=1e-12)
    with torch.no_grad():
        for weights in (*theirs.patch_embed.parameters(), theirs.pos_embed, theirs.cls_token):
            weights.mul_(1e-3)
    weights = as_transformers(theirs.state_dict())
    same_logits(theirs, through_our_import(write(tmp_path / "a", weights), tmp_path / "a.safetensors"))
    config = {"model_type": "vit", "layer_norm_eps": 1e-6}
    other = through_our_import(write(tmp_path / "b", weights, config=config), tmp_path / "b.safetensors")
    pictures = some_pictures(other.config)
    assert (theirs(pictures) - other(pictures)).abs().max() > 1e-2


@pytest.mark.parametrize("options", [
    {"size": 96, "patch": 32}, {"width": 64, "heads": 4, "size": 28, "patch": 4, "in_chans": 1}, {"mlp_ratio": 3.3},
    {"act_layer": "gelu_tanh"},
])  # fmt: skip
def test_other_shapes_come_as_they_are(options, tmp_path):
    theirs = timm_vit(**LITTLE | options)
    config = {"architecture": "vit", "model_args": {"num_heads": options.get("heads", 3)}}
    if options.get("act_layer"):
        config = {"model_type": "vit", "hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 1e-6}
    weights = theirs.state_dict()
    path = write(tmp_path, as_transformers(weights) if options.get("act_layer") else weights, config=config)
    same_logits(theirs, through_our_import(path, tmp_path / "ours.safetensors"))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_weights_of_another_precision_are_read_as_what_they_are(dtype, tmp_path):
    theirs = timm_vit(**LITTLE)
    for parameter in theirs.parameters():
        parameter.data = parameter.data.to(dtype).float()
    path = write(tmp_path, {name: value.to(dtype) for name, value in theirs.state_dict().items()})
    same_logits(theirs, through_our_import(path, tmp_path / "ours.safetensors"))


# The way back


def test_our_weights_fit_timm_and_give_the_same_logits(lively, tmp_path):
    ours = lively(import_weights.import_file(write(tmp_path, timm_vit(**LITTLE).state_dict())).model.config)
    theirs = timm_vit(**LITTLE)
    theirs.load_state_dict(import_weights.to_timm(ours))
    same_logits(theirs, ours)


def test_our_weights_under_the_names_of_transformers_are_those_of_its_script(lively, tmp_path):
    ours = lively(import_weights.import_file(write(tmp_path, timm_vit(**LITTLE).state_dict())).model.config)
    theirs = as_transformers(import_weights.to_timm(ours))
    torch.testing.assert_close(import_weights.to_transformers(ours), theirs, rtol=0, atol=0)


@pytest.mark.parametrize("to", [import_weights.to_torchvision, import_weights.to_timm, import_weights.to_transformers])
def test_there_and_back_changes_no_bit(to, lively, tmp_path):
    ours = lively(import_weights.import_file(write(tmp_path, timm_vit(**LITTLE).state_dict())).model.config)
    again = import_weights.import_file(write(tmp_path / "again", to(ours))).model
    torch.testing.assert_close(again.state_dict(), ours.state_dict(), rtol=0, atol=0)
