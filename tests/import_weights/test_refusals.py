"""What we cannot represent, and what is no model at all, gets a sentence and changes nothing."""

import contextlib
import json
import math
import os
import pickle
import struct
import zipfile
from dataclasses import replace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.makers import as_transformers, timm_vit, torchvision_vit, write
from vit.checkpoints import BadCheckpoint
from vit.config import PRESETS
from vit.import_weights import __main__ as command
from vit.import_weights import import_file, to_timm
from vit.import_weights.beside import from_timm, from_transformers
from vit.import_weights.recognise import recognise
from vit.model import VisionTransformer

LITTLE = {"width": 192, "heads": 3, "depth": 2, "size": 64, "classes": 10}


@pytest.fixture(scope="module")
def weights():
    return timm_vit(**LITTLE).state_dict()


def refused(path, *words):
    with pytest.raises(BadCheckpoint) as refusal:
        import_file(path)
    sentence = str(refusal.value)
    assert all(word in sentence for word in words), sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert len(sentence) < 400


# Models that are not plain ViTs, as their maker builds them


@pytest.mark.parametrize(("options", "words"), [
    ({"reg_tokens": 4}, "register tokens"),
    ({"init_values": 1e-5}, "layer scale"),
    ({"qk_norm": True}, "qk-norm"),
    ({"pre_norm": True}, "a norm before the first block"),
    ({"global_pool": "avg"}, "the mean of the patches"),
    ({"global_pool": "map"}, "pools by attention"),
    ({"class_token": False, "global_pool": "avg", "fc_norm": False}, "no class token"),
    ({"no_embed_class": True}, "are not those of CLS and a square"),
    ({"pos_embed": "none"}, "no learned positions"),
    ({"classes": 0}, "no head"),
    ({"qkv_bias": False}, "are missing, such as blocks.0.attn.qkv.bias"),
    ({"scale_mlp_norm": True}, "norms inside attention or the MLP"),
    ({"width": 100, "heads": 5}, "how many heads share a width of 100"),
    ({"in_chans": 4}, "channels must be 1 (grey) or 3 (colour), not 4"),
])  # fmt: skip
def test_a_timm_model_that_is_no_plain_vit_is_refused_for_what_it_is(options, words, tmp_path):
    refused(write(tmp_path, timm_vit(**LITTLE | options).state_dict()), words)


def test_a_distilled_deit_is_refused(tmp_path):
    timm_vit(depth=1)  # imports timm
    from timm.models.deit import VisionTransformerDistilled

    distilled = VisionTransformerDistilled(img_size=32, embed_dim=192, depth=1, num_heads=3, num_classes=10)
    refused(write(tmp_path, distilled.state_dict()), "a distillation token beside CLS")


def test_a_torchvision_model_with_one_more_layer_before_the_head_is_refused(tmp_path):
    model = torchvision_vit(**LITTLE, representation_size=32)
    refused(write(tmp_path, model.state_dict()), "pre-logits")


@pytest.mark.parametrize(("config", "words"), [
    ({"model_type": "dinov2"}, "'dinov2'"),
    ({"model_type": "vit", "hidden_act": "quick_gelu"}, "Its MLPs use quick_gelu"),
    ({"model_type": "vit", "layer_norm_eps": 1e-5}, "1e-05 to the variance"),
    ({"model_type": "vit", "layer_norm_eps": 1e-12, "hidden_act": "gelu_new"}, "one of the two"),
    ({"model_type": "vit", "num_attention_heads": 5}, "cannot be shared evenly by 5 heads"),
    ({"architecture": "vit_base_patch16_clip_quickgelu_224"}, "quick GELU"),
    ({"architecture": "vit_tiny_patch16_224", "global_pool": "avg"}, "'avg' pooling"),
    ({"architecture": "vit_tiny_patch16_224", "model_args": {"act_layer": "relu"}}, "act_layer"),
])  # fmt: skip
def test_what_a_config_tells_of_another_kind_of_model_is_refused(config, words, weights, tmp_path):
    refused(write(tmp_path, as_transformers(weights) if "model_type" in config else weights, config=config), words)


# Files that are not what they seem


@pytest.mark.parametrize("content", [
    b"", b"{", b"a text", b"PK\3\4" + bytes(99), struct.pack("<Q", 2**63) + b"{}", struct.pack("<Q", 10**9) + b"{}",
    struct.pack("<Q", 2) + b"[]", struct.pack("<Q", 4) + b"null",
])  # fmt: skip
def test_a_file_of_another_kind_is_refused(content, tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    refused(path, "model.safetensors is not a whole safetensors file")


class Burglar:
    def __init__(self, loot):
        self.loot = loot

    def __reduce__(self):
        return os.mkdir, (str(self.loot),)


@pytest.mark.parametrize("kind", ["pickle", "torch", "zip"])
def test_a_pickle_or_zip_under_another_name_is_refused_and_nothing_in_it_runs(kind, tmp_path):
    path, burglar = tmp_path / "model.safetensors", Burglar(tmp_path / "loot")
    if kind == "torch":
        torch.save(burglar, path)
    elif kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data.pkl", pickle.dumps(burglar))
    else:
        path.write_bytes(pickle.dumps(burglar))
    refused(path, "pickle (.pth, .bin) are never opened")
    assert not (tmp_path / "loot").exists()


def header_of(path):
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def with_header(path, header, data):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


@pytest.mark.parametrize("lie", [
    {"shape": [10**6, 2_500]}, {"shape": [2**62, 2**62]}, {"shape": [-10, 192]}, {"dtype": "F64"}, {"dtype": "F999"},
    {"data_offsets": [0, 10**10]}, {"data_offsets": [10, 5]},
])  # fmt: skip
def test_a_header_that_lies_about_its_weights_is_refused(lie, weights, tmp_path):
    path = write(tmp_path, weights)
    header, data = header_of(path)
    header["head.weight"] |= lie
    with_header(path, header, data)
    refused(path, "not a whole safetensors file")


def with_holes(path, shapes):
    """A file that declares and has all its bytes, and takes no room on the disk: they were never written."""
    header, end = {}, 0
    for name, shape in shapes.items():
        start, end = end, end + 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [start, end]}
    with_header(path, header, b"")
    os.truncate(path, path.stat().st_size + end)
    return path


def test_ten_gigabytes_are_refused_before_they_are_read(weights, tmp_path):
    little = {name: tuple(value.shape) for name, value in weights.items()}
    with torch.device("meta"):
        large = to_timm(VisionTransformer(replace(PRESETS["base"], width=1280, depth=140, heads=16)))
    path = with_holes(tmp_path / "model.safetensors", {name: tuple(value.shape) for name, value in large.items()})
    assert path.stat().st_size > 10**10
    refused(path, "700,000,000 is the most that is read")
    refused(with_holes(path, little | {"more": (2_500, 1000, 1000)}), "such as more")
    refused(with_holes(path, little | {"blocks.0.mlp.fc1.weight": (10**7, 250)}), "units")


@pytest.mark.parametrize("empty", ["pos_embed", "head.weight", "patch_embed.proj.weight", "blocks.0.mlp.fc1.weight"])
def test_weights_without_a_number_are_refused(empty, weights, tmp_path):
    refused(write(tmp_path, weights | {empty: torch.zeros([0] * weights[empty].dim())}))
    refused(write(tmp_path, weights | {empty: torch.zeros(())}), "axes")


def test_names_that_nobody_knows_are_refused(weights, tmp_path):
    refused(write(tmp_path, {f"model.{name}": value for name, value in weights.items()}), "These names", "model.blocks")
    refused(write(tmp_path, {}), "none at all")
    refused(write(tmp_path, weights | {"tail.weight": torch.ones(1)}), "such as tail.weight")
    refused(write(tmp_path, weights | {"\x1b[2Jtail\n" * 99: torch.ones(1)}), r"such as \x1b[2Jtail\n")
    refused(write(tmp_path, {name: value for name, value in weights.items() if name != "norm.bias"}), "norm.bias")


def test_weights_of_another_shape_are_refused(weights, tmp_path):
    refused(write(tmp_path, weights | {"norm.bias": torch.ones(191)}), "norm.bias is (191,), and", "asks for (192,)")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_not_finite_are_refused(value, weights, tmp_path):
    broken = weights["blocks.1.attn.qkv.weight"].clone()
    broken[100, 3] = value
    refused(write(tmp_path, weights | {"blocks.1.attn.qkv.weight": broken}), "blocks.1.attn.qkv.weight", "not finite")


def test_whole_numbers_are_refused(weights, tmp_path):
    refused(write(tmp_path, weights | {"head.bias": torch.ones(10, dtype=torch.int32)}), "head.bias holds torch.int32")


@pytest.mark.parametrize("content", ["{", "[]", "null", "[" * 100_000, "1" * 10_000, "\x00", '{"id2label": [1]}{'])
def test_a_config_that_is_none_is_refused(content, weights, tmp_path):
    path = write(tmp_path, weights)
    (tmp_path / "config.json").write_text(content)
    refused(path, "config.json beside the weights")


# Generated


DIMENSION = st.integers(0, 5) | st.sampled_from([16, 192, 197, 10**6, 2**62])
NAMES = ["cls_token", "pos_embed", "patch_embed.proj.weight", "head.weight", "blocks.0.mlp.fc1.weight", "norm.bias",
         "class_token", "encoder.pos_embedding", "conv_proj.weight", "heads.head.weight", "blocks.999999.x", "vit.", ""]


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES), st.lists(DIMENSION, max_size=4).map(tuple)))
def test_whatever_names_and_shapes_a_file_declares_the_answer_is_a_sentence(shapes):
    with pytest.raises(BadCheckpoint, match=r"\.$"):
        recognise(shapes)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_in_the_header_never_ends_in_another_error(data, weights, tmp_path):
    path = write(tmp_path, weights)
    content = bytearray(path.read_bytes())
    header = 8 + struct.unpack("<Q", content[:8])[0]
    for position in data.draw(st.lists(st.integers(0, header - 1), min_size=1, max_size=3)):
        content[position] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with contextlib.suppress(BadCheckpoint):
        import_file(path)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=8), children, max_size=3),
    max_leaves=6,
)
SETTINGS = ["architecture", "pretrained_cfg", "model_args", "label_names", "label_descriptions", "model_type",
            "hidden_act", "layer_norm_eps", "num_attention_heads", "id2label", "size", "crop_size", "image_mean",
            "image_std", "do_normalize", "do_center_crop", "rescale_factor", "resample", "input_size", "crop_pct",
            "mean", "std", "tag", "global_pool", "_name_or_path"]
CONFIG = st.dictionaries(st.sampled_from(SETTINGS), ANYTHING | st.dictionaries(st.sampled_from(SETTINGS), ANYTHING))


@settings(max_examples=100, deadline=None)
@given(CONFIG, CONFIG)
def test_whatever_a_config_says_the_answer_is_something_that_makes_sense_or_a_sentence(config, processor):
    for read in (lambda: from_timm(config), lambda: from_transformers(config, processor)):
        with contextlib.suppress(BadCheckpoint):
            found = read()
            assert isinstance(found.origin, str)
            assert found.preparation is None or min(found.preparation.deviation) > 0
            assert all(isinstance(name, str) for name in found.classes)


# Nothing changes


def test_a_refusal_leaves_everything_as_it_was(weights, tmp_path, capsys):
    path, out = write(tmp_path, weights | {"tail.weight": torch.ones(1)}), tmp_path / "out" / "ours.safetensors"
    assert command.main([str(path), str(out)]) == 1
    assert not out.parent.exists()
    out.parent.mkdir()
    out.write_bytes(b"what was there before")
    assert command.main([str(path), str(out)]) == 1
    assert out.read_bytes() == b"what was there before"
    assert [file.name for file in out.parent.iterdir()] == [out.name]
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 2
    assert "tail.weight" in said.err
