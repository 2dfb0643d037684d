"""Claims that need no run: they are computed from what is shipped, or from a formula. torch comes where needed."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from vit.config import PRESETS
from vit.studies.study import DOES_NOT, HOLDS, IN_PART, Computed

if TYPE_CHECKING:
    from vit.model import VisionTransformer

BATCH = 32
OFTEN = 5.0  # percent: what luck does more often than this is no evidence
CLAIMED_WEIGHTS = 1.2e6
DIGITS = 100  # whose activations are looked at
CONV_TOLERANCE = 1e-4
LOGIT_TOLERANCE = 0.01


def spread_of_batches() -> Computed:
    """How far batches of 32 scatter, by the shipped model's answers and by the binomial distribution."""
    from scipy import stats

    from vit import checkpoints, data

    images, labels = data.load("mnist", "test")
    hits = answers(checkpoints.load("explorer"), images) == labels
    batches = 100 * hits[: len(hits) // BATCH * BATCH].reshape(-1, BATCH).mean(1)
    interval = stats.binomtest(int(hits.sum()), len(hits)).proportion_ci(method="wilson")
    luck = chances_of_batches()
    measured = {
        "accuracy of the shipped model on all test images": 100 * float(hits.mean()),
        "its interval from": 100 * float(interval.low),
        "its interval to": 100 * float(interval.high),
        "its batches of 32": float(len(batches)),
        "its worst batch": float(batches.min()),
        "its batches with 100 %, in percent": 100 * float((batches == 100).mean()),
        "its batches with at most 93.75 %, in percent": 100 * float((batches <= 93.75).mean()),
    }
    told_apart = all(chance < OFTEN for chance in luck.values())
    return Computed(luck | measured, HOLDS if told_apart else DOES_NOT)


def chances_of_batches() -> dict[str, float]:
    """How often luck alone gives the article's two batches to the other model, in percent."""
    from scipy import stats

    return {
        "chance that a model of 95.47 % reads all 32": 100 * float(stats.binom.pmf(BATCH, BATCH, 0.9547)),
        "chance that a model of 97.39 % reads at most 30 of 32": 100 * float(stats.binom.cdf(30, BATCH, 0.9739)),
    }


def number_of_weights() -> Computed:
    counted = PRESETS["article"].parameters
    figures = {"weights of the article's shape": float(counted), "claimed": CLAIMED_WEIGHTS,
               "weights with 6 blocks": float(PRESETS["tiny"].parameters)}
    return Computed(figures, HOLDS if abs(counted / CLAIMED_WEIGHTS - 1) < 0.05 else DOES_NOT)


def where_the_weights_are() -> Computed:
    """By closed form, for the model that the text describes: 6 blocks on CIFAR-10."""
    config = PRESETS["cifar"]
    attention, mlp, norms = config.attention_parameters, config.mlp_parameters, config.depth * 4 * config.width
    in_blocks = 100 * (attention + mlp + norms) / config.parameters
    ratio = mlp / attention
    figures = {"percent of the weights in the blocks": in_blocks, "MLP over attention": ratio,
               "percent in attention": 100 * attention / config.parameters,
               "percent in the MLPs": 100 * mlp / config.parameters}
    most, equally = in_blocks > 98, 0.8 < ratio < 1.25
    return Computed(figures, HOLDS if most and equally else IN_PART if most or equally else DOES_NOT)


def gelu_by_tanh() -> Computed:
    """The shipped model with exact GELU and with the approximation, on test digits."""
    import torch
    import torch.nn.functional as F

    from vit import checkpoints, data
    from vit.trace import trace_image
    from vit.variants import transformer

    images, _ = data.load("mnist", "test")
    exact = checkpoints.load("explorer")
    approximate = transformer(replace(exact.config, variant="tanh-gelu"))
    approximate.load_state_dict(exact.state_dict())
    approximate.eval()
    furthest = largest = 0.0
    for image in images[:DIGITS]:
        for block, seen in zip(exact.blocks, trace_image(exact, image).blocks, strict=True):
            x = block.expand(torch.tensor(seen.ln2))
            furthest = max(furthest, float((F.gelu(x) - F.gelu(x, approximate="tanh")).abs().max()))
            largest = max(largest, float(x.abs().max()))
    ours, theirs = _logits(exact, images[:DIGITS]), _logits(approximate, images[:DIGITS])
    apart = float(np.abs(ours - theirs).max())
    changed = int((ours.argmax(1) != theirs.argmax(1)).sum())
    figures = {"digits": float(DIGITS), "largest input of GELU": largest,
               "largest difference of an activation": furthest,
               "largest difference of a logit": apart, "answers that change": float(changed)}
    return Computed(figures, HOLDS if apart < LOGIT_TOLERANCE and not changed else DOES_NOT)


def conv2d_trick() -> Computed:
    """Cutting and multiplying against a Conv2d with the same weights, on test digits."""
    from vit import checkpoints, data
    from vit.explain import conv2d_difference

    images, _ = data.load("mnist", "test")
    model = checkpoints.load("explorer")
    furthest = max(conv2d_difference(model, image) for image in images[:DIGITS])
    figures = {"digits": float(DIGITS), "largest difference of an embedding": furthest}
    return Computed(figures, HOLDS if furthest < CONV_TOLERANCE else DOES_NOT)


def answers(model: "VisionTransformer", images: np.ndarray) -> np.ndarray:
    return _logits(model, images).argmax(1)


def _logits(model: "VisionTransformer", images: np.ndarray, chunk: int = 200) -> np.ndarray:
    import torch

    from vit.data import normalise

    with torch.inference_mode():
        parts = [model(normalise(images[start : start + chunk])).numpy() for start in range(0, len(images), chunk)]
    return np.concatenate(parts)
