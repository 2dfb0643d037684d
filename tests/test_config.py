import dataclasses
import math
import re

import pytest
import torch

from vit.config import PRESETS, ViTConfig
from vit.model import VisionTransformer

ATTENTION, MLP = re.compile(r"\.attention\."), re.compile(r"\.(expand|contract)\.")


@pytest.mark.parametrize("preset", PRESETS)
def test_parameters_by_the_closed_form_are_those_of_the_model(preset):
    with torch.device("meta"):
        model = VisionTransformer(PRESETS[preset])
    counted = sum(parameter.numel() for parameter in model.parameters())
    assert PRESETS[preset].parameters == counted
    in_parts = {part: sum(parameter.numel() for name, parameter in model.named_parameters() if part.search(name))
                for part in (ATTENTION, MLP)}
    assert in_parts == {ATTENTION: PRESETS[preset].attention_parameters, MLP: PRESETS[preset].mlp_parameters}


def test_published_counts_of_parameters():
    assert PRESETS["article"].parameters == 1_992_970
    assert PRESETS["base"].parameters == 86_567_656  # as torchvision counts its vit_b_16


def test_presets_have_the_shapes_that_their_sources_give():
    def shape(name):
        c = PRESETS[name]
        return c.image_size, c.channels, c.patch_size, c.width, c.depth, c.heads, c.mlp_width, c.dropout

    assert list(PRESETS) == ["article", "tiny", "cifar", "quick", "base"]
    assert shape("article") == (28, 1, 4, 128, 10, 16, 512, 0)
    assert shape("tiny") == (28, 1, 4, 128, 6, 4, 512, 0)
    assert shape("cifar") == (32, 3, 4, 128, 6, 4, 512, 0)
    assert shape("base") == (224, 3, 16, 768, 12, 12, 3072, 0)


def test_derived_sizes_follow_the_paper():
    base = PRESETS["base"]
    assert (base.grid, base.patches, base.tokens) == (14, 196, 197)
    assert (base.patch_values, base.head_width, base.mlp_width) == (768, 64, 3072)
    article = PRESETS["article"]
    assert (article.grid, article.patches, article.tokens) == (7, 49, 50)
    assert (article.patch_values, article.head_width, article.mlp_width) == (16, 8, 512)


def test_a_config_cannot_be_changed_behind_the_models_back():
    with pytest.raises(dataclasses.FrozenInstanceError):
        PRESETS["article"].width = 64


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"patch_size": 5}, "28 pixels cannot be cut into patches of 5. Patch sizes that fit: 1, 2, 4, 7, 1"),
        ({"patch_size": 56}, "Patch sizes that fit: 1, 2, 4, 7, 14, 28"),
        ({"heads": 3}, "128 cannot be shared evenly by 3 heads. Numbers of heads that fit: 1, 2, 4, 8, 16"),
        ({"channels": 2}, r"channels must be 1 \(grey\) or 3 \(colour\), not 2"),
        ({"depth": 0}, "depth must be a whole number of at least 1, not 0"),
        ({"classes": -1}, "classes must be a whole number of at least 1, not -1"),
        ({"width": 128.0}, "width must be a whole number of at least 1, not 128.0"),
        ({"image_size": "28"}, "image_size must be a whole number of at least 1, not '28'"),
        ({"heads": True}, "heads must be a whole number of at least 1, not True"),
        ({"mlp_ratio": 0}, "mlp_ratio must give the MLP at least one unit; 0 does not"),
        ({"mlp_ratio": -4.0}, "mlp_ratio must give the MLP at least one unit; -4.0 does not"),
        ({"mlp_ratio": 1e308}, "mlp_ratio must give the MLP a finite number of units"),
        ({"mlp_ratio": math.nan}, "mlp_ratio must"),
        ({"mlp_ratio": math.inf}, "mlp_ratio must"),
        ({"mlp_ratio": "4"}, "mlp_ratio must"),
        ({"dropout": 1}, "dropout must be at least 0 and below 1, not 1"),
        ({"dropout": -0.1}, "dropout must be at least 0 and below 1, not -0.1"),
        ({"dropout": math.nan}, "dropout must be at least 0 and below 1, not nan"),
        ({"dropout": "0.1"}, "dropout must be at least 0 and below 1, not '0.1'"),
    ],
)
def test_bad_configurations_are_refused_with_what_would_be_right(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        ViTConfig(**wrong)


def test_a_bad_change_of_a_good_config_is_refused_too():
    with pytest.raises(ValueError, match="cannot be shared evenly"):
        dataclasses.replace(PRESETS["article"], heads=5)


@pytest.mark.parametrize(("change", "sentence"), [
    ({"depth": 20_000}, "depth must be at most 200 blocks, not 20,000."),
    ({"width": 1, "heads": 1, "mlp_ratio": 6e6}, "at most 16,384 units; 6000000.0 gives 6,000,000."),
])
def test_no_model_is_larger_than_pages_can_show(change, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        ViTConfig(**change)
