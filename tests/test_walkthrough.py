"""The closed forms of the walk-through, held to counting: weights, a FLOP counter, the bytes of a trace."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from vit.config import PRESETS
from vit.model import VisionTransformer
from vit.trace import trace_image
from vit.variants import transformer
from vit.walkthrough import coincidences, named_models, walk_through

LITTLE = replace(PRESETS["quick"], mlp_ratio=1.5, classes=7)
SHAPES = {name: PRESETS[name] for name in ("article", "tiny", "cifar", "base")} | {"little": LITTLE}
WEIGHTS = {
    "patch embeddings": ["embedding.projection"], "z₀": ["embedding.cls_token", "embedding.position_embeddings"],
    "q, k, v": ["blocks.0.attention.W_q", "blocks.0.attention.W_k", "blocks.0.attention.W_v"],
    "attention": ["blocks.0.attention.out_proj"], "MLP, hidden": ["blocks.0.expand"], "MLP": ["blocks.0.contract"],
    "y": ["norm"], "logits": ["head"],
}


def on_meta(config):
    with torch.device("meta"):
        return transformer(config).eval(), torch.empty(1, config.channels, config.image_size, config.image_size)


@pytest.mark.parametrize("name", SHAPES)
def test_weights_are_those_of_the_model_in_all_and_step_by_step(name):
    walk, (model, _) = walk_through(SHAPES[name]), on_meta(SHAPES[name])
    assert walk.total.weights == sum(parameter.numel() for parameter in model.parameters())
    for step in (*walk.embedding, *walk.block, *walk.head):
        if step.name == "LN":
            assert step.weights == sum(parameter.numel() for parameter in model.blocks[0].norm1.parameters())
            continue
        counted = [parameter.numel() for parameter_name, parameter in model.named_parameters()
                   if any(parameter_name.startswith(f"{begin}.") or parameter_name == begin
                          for begin in WEIGHTS.get(step.name, ()))]
        assert step.weights == sum(counted)


@pytest.mark.parametrize("name", SHAPES)
def test_multiplications_are_what_torchs_flop_counter_counts(name):
    walk, (model, picture) = walk_through(SHAPES[name]), on_meta(SHAPES[name])
    with FlopCounterMode(display=False) as counter, torch.inference_mode():
        model(picture)
    assert counter.get_total_flops() == 2 * walk.total.multiplications  # a multiplication and an addition each
    counted = {module: sum(kinds.values()) for module, kinds in counter.get_flop_counts().items()}
    steps = {step.name: 2 * step.multiplications for step in (*walk.embedding, *walk.block, *walk.head)}
    top = VisionTransformer.__name__
    assert counted[f"{top}.embedding.projection"] == steps["patch embeddings"]
    assert counted[f"{top}.blocks.0.attention"] == sum(
        steps[name] for name in ("q, k, v", "scores", "heads", "attention"))
    assert counted[f"{top}.blocks.0.attention.W_q"] == steps["q, k, v"] / 3
    assert counted[f"{top}.blocks.0.expand"] == steps["MLP, hidden"]
    assert counted[f"{top}.blocks.0.contract"] == steps["MLP"]
    assert counted[f"{top}.head"] == steps["logits"]


@pytest.mark.parametrize("name", ["article", "cifar", "little"])
def test_shapes_and_memory_are_those_of_a_trace(name, lively):
    config = SHAPES[name]
    side = (config.image_size, config.image_size, 3)[: 2 + (config.channels == 3)]
    trace = trace_image(lively(config), np.zeros(side, np.uint8))
    walk = walk_through(config)
    for steps, where in ((walk.embedding, trace), (walk.block, trace.blocks[-1]), (walk.head, trace)):
        for step in steps:
            values = [getattr(where, field) for field in step.fields]
            assert step.memory == sum(value.nbytes for value in values)
            assert {value.shape for value in values} == {step.shape if step.name != "picture" else side}
            assert len(step.letters) == len(step.shape)


def test_formulas_say_what_was_computed():
    config = SHAPES["little"]
    letters = {"N": config.patches, "P²C": config.patch_values, "D": config.width, "D²": config.width**2, "3": 3,
               "T": config.tokens, "T²": config.tokens**2, "M": config.mlp_width, "K": config.classes}
    walk = walk_through(config)
    for step in (*walk.embedding, *walk.block, *walk.head):
        said = np.prod([letters[letter] for letter in step.formula.split("·")]) if step.formula else 0
        assert step.multiplications == said


def test_the_chosen_model_stands_beside_the_others_unless_it_is_one_of_them():
    models, own = named_models(PRESETS["article"])
    assert (list(models), own) == (["the article's", "tiny", "CIFAR-10", "ViT-Base"], "the article's")
    models, own = named_models(LITTLE)
    assert models[own] == LITTLE
    assert named_models(replace(PRESETS["base"], variant="eps-1e-12"))[1] == "ViT-Base"


def test_only_in_base_with_patches_of_16_a_patch_has_as_many_numbers_as_a_token():
    assert [found.name for found in coincidences() if found.same] == ["ViT-Base/16"]
    assert [found.values for found in coincidences() if found.name == "ViT-Base/16"] == [16 * 16 * 3]
