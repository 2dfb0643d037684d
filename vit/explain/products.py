"""One number, unfolded: the dot product or the normalisation that it came from."""

from dataclasses import dataclass
from math import erf, sqrt

import numpy as np
from numpy.typing import ArrayLike
from torch import nn

from vit.explain.arithmetic import weights
from vit.model import VisionTransformer
from vit.trace import ForwardTrace


@dataclass(frozen=True)
class Term:
    """One product of a dot product: a[index] · b[index]."""

    index: int
    a: float
    b: float
    product: float


@dataclass(frozen=True)
class DotProduct:
    """a·b + bias as its largest terms, how many others there are and what they sum to."""

    total: float
    bias: float
    terms: tuple[Term, ...]
    rest_count: int
    rest_sum: float


def dot_product(
    left: ArrayLike, right: ArrayLike, bias: float = 0.0, largest: int = 3, total: float | None = None
) -> DotProduct:
    """Unfold a·b + bias. Where the model's own result is known, pass it as `total`: pages show that one."""
    a, b = np.asarray(left, float), np.asarray(right, float)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"A dot product takes two vectors of one length, not {a.shape} and {b.shape}.")
    products = a * b
    order = np.argsort(-np.abs(products), kind="stable")
    chosen, rest = order[:largest], order[largest:]
    return DotProduct(
        total=float(products.sum() + bias) if total is None else float(total),
        bias=float(bias),
        terms=tuple(Term(int(i), float(a[i]), float(b[i]), float(products[i])) for i in chosen),
        rest_count=len(rest),
        rest_sum=float(products[rest].sum()),
    )


def mlp_unit(trace: ForwardTrace, model: VisionTransformer, layer: int, token: int, unit: int) -> DotProduct:
    """What one hidden unit of an MLP computes for one token, before GELU."""
    expand = model.blocks[layer].expand
    return dot_product(trace.blocks[layer].ln2[token], weights(expand.weight)[unit], expand.bias[unit].item())


def class_logit(trace: ForwardTrace, model: VisionTransformer, label: int) -> DotProduct:
    """W·y + b for one class."""
    bias = model.head.bias[label].item()
    return dot_product(trace.cls_out, weights(model.head.weight)[label], bias, total=trace.logits[label])


def normal_below(x: float) -> float:
    """Φ(x): the share of a normal distribution that lies below x."""
    return (1 + erf(x / sqrt(2))) / 2


@dataclass(frozen=True, eq=False)
class LayerNormNumbers:
    mean: float
    deviation: float  # √(variance + ε)
    normalised: np.ndarray  # (D,) (x − mean) / deviation
    out: np.ndarray  # (D,) normalised · γ + β


def layer_norm_numbers(x: np.ndarray, norm: nn.LayerNorm | None = None) -> LayerNormNumbers:
    """LayerNorm of one vector, step by step; without `norm`, γ is 1 and β is 0."""
    x = np.asarray(x, float)
    mean, deviation = float(x.mean()), sqrt(x.var() + (norm.eps if norm else 1e-6))
    normalised = (x - mean) / deviation
    out = normalised * weights(norm.weight) + weights(norm.bias) if norm else normalised
    return LayerNormNumbers(mean, deviation, normalised, out)
