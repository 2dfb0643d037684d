"""What a trace and a model tell beyond their raw numbers: pure functions from arrays to arrays.

Sums are computed in float64 from the float32 numbers of the trace, so that what should add up does.
T = N+1 tokens, D width, h heads, L blocks, as in the model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import erf, sqrt

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from vit.data import normalise
from vit.model import VisionTransformer
from vit.trace import BlockTrace, ForwardTrace

# One number, unfolded


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


# Attention


def entropy(pattern: np.ndarray) -> np.ndarray:
    """Bits along the last axis: 0 looks at one token only, log2(T) looks at all T alike."""
    p = np.asarray(pattern)  # in its own precision: a mosaic's many logarithms would take long in float64
    return -(p * np.log2(np.where(p > 0, p, p.dtype.type(1)))).sum(-1, dtype=float) + 0.0  # no −0


def attention_distance(pattern: np.ndarray, grid: int, patch_size: int) -> np.ndarray:
    """How far the patches look on average, in pixels, per head: (h, T, T) -> (h,).

    Without CLS, neither as the one who looks nor as the one looked at (the ViT paper's figure 7, right).
    """
    rows, columns = np.divmod(np.arange(grid * grid), grid)
    distances = np.hypot(rows[:, None] - rows, columns[:, None] - columns) * patch_size  # (N, N)
    among_patches = np.asarray(pattern, float)[..., 1:, 1:]
    share = among_patches.sum(-1)  # what the query does not spend on CLS; 0 where all patches are masked
    walked = np.einsum("...qk,qk->...q", among_patches, distances)
    return (walked / np.where(share > 0, share, 1)).mean(-1)


@dataclass(frozen=True, eq=False)
class AllHeads:
    """Each (L, h): every head of every block."""

    entropy: np.ndarray  # mean over the rows, in bits
    distance: np.ndarray  # in pixels


def all_heads(trace: ForwardTrace) -> AllHeads:
    grid = round(sqrt(len(trace.patches)))
    entropies = [entropy(block.pattern).mean(-1) for block in trace.blocks]
    distances = [attention_distance(block.pattern, grid, len(trace.image) // grid) for block in trace.blocks]
    return AllHeads(np.stack(entropies), np.stack(distances))


@dataclass(frozen=True, eq=False)
class Attended:
    """One head's scores and what softmax makes of them."""

    scores: np.ndarray  # (T, T)
    pattern: np.ndarray  # (T, T)
    spread: float  # standard deviation of the scores
    entropy: np.ndarray  # (T,) bits per row


def scaling_effect(block: BlockTrace, head: int) -> tuple[Attended, Attended]:
    """A head with its scores divided by √d_k, and without. What a mask hides stays hidden."""
    q, k = block.q[head].astype(float), block.k[head].astype(float)
    visible = np.isfinite(block.scores[head])
    products = np.where(visible, q @ k.T, -np.inf)

    def attended(scores: np.ndarray) -> Attended:
        pattern = softmax(scores)
        return Attended(scores, pattern, float(scores[visible].std()), entropy(pattern))

    return attended(products / sqrt(q.shape[-1])), attended(products)


def attention_maps(trace: ForwardTrace, token: int) -> np.ndarray:
    """Where the token looks, in every head of every block: (L, h, grid, grid), CLS left out."""
    rows = np.stack([block.pattern[:, token, 1:] for block in trace.blocks])  # (L, h, N)
    grid = round(sqrt(rows.shape[-1]))
    return rows.reshape(*rows.shape[:2], grid, grid)


def causal_pattern(block: BlockTrace, head: int) -> np.ndarray:
    """The pattern that a head's scores would give under GPT's mask: (T, T)."""
    seen = np.tri(block.scores.shape[-1], dtype=bool)
    return softmax(np.where(seen, block.scores[head], -np.inf))


# Which patches the answer stands on

NUMBERS_AT_ONCE = 49 * 50 * (16 * 50 + 4 * 128 + 512)  # what the article's model holds of its 49 patches in one block


def rollout(trace: ForwardTrace) -> np.ndarray:
    """What reaches CLS from each token through all blocks, if a block hands on half of what a token holds and half of
    what its heads look at on average (Abnar and Zuidema, 2020): (T,), sums to 1."""
    itself = np.eye(len(trace.tokens))
    reached = itself
    for block in trace.blocks:
        reached = (itself + block.pattern.mean(0, dtype=float)) / 2 @ reached
    return reached[0]


def occlusion(trace: ForwardTrace, model: VisionTransformer) -> np.ndarray:
    """How much probability the answer loses when nobody can look at a patch: (N,), one forward pass for each."""
    alone = torch.eye(len(trace.tokens), dtype=torch.bool)[1:, None, None]  # (N, 1, 1, T)
    image, left = normalise(trace.image[None], model.normalisation), []
    config = model.config
    held = config.tokens * (config.heads * config.tokens + 4 * config.width + config.mlp_width)
    for hidden in alone.split(max(1, NUMBERS_AT_ONCE // held)):

        def hide(name: str, block: int | None, value: Tensor, hidden: Tensor = hidden) -> Tensor:
            return value.masked_fill(hidden, -torch.inf) if name == "scores" else value

        with torch.inference_mode():
            left.append(model(image.expand(len(hidden), -1, -1, -1), hide).softmax(-1)[:, trace.prediction])
    return float(trace.probabilities[trace.prediction]) - torch.cat(left).numpy().astype(float)


def same_order(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's rank correlation: 1 if both put the patches in the same order, −1 in the opposite one.

    0 if all values of one are the same: then it has no order.
    """
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(np.corrcoef(_ranks(a), _ranks(b))[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    """Equal values share the mean of their ranks. (SciPy has this, and takes a second to import.)"""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (count.cumsum() - (count - 1) / 2)[place]


# Embedding


def position_similarity(position_embeddings: np.ndarray) -> np.ndarray:
    """Cosine similarity of the patches' positions, CLS left out: (T, D) -> (N, N) (figure 7, centre)."""
    return cosines(position_embeddings[1:])


def neighbour_similarity(similarity: np.ndarray) -> tuple[float, float]:
    """The mean similarity of patches that touch, also at a corner, and of all others: (N, N) -> two numbers."""
    grid = round(sqrt(len(similarity)))
    rows, columns = np.divmod(np.arange(grid * grid), grid)
    apart = np.maximum(np.abs(rows[:, None] - rows), np.abs(columns[:, None] - columns))
    return float(similarity[apart == 1].mean()), float(similarity[apart > 1].mean())


def most_alike(similarity: np.ndarray) -> np.ndarray:
    """For each, which other one is most like it: (N, N) -> (N,)."""
    itself = np.eye(len(similarity), dtype=bool)
    return np.where(itself, -np.inf, similarity).argmax(-1)


def conv2d_difference(model: VisionTransformer, image: np.ndarray) -> float:
    """The largest difference between cutting and multiplying by E, and a Conv2d with the same weights."""
    config, projection = model.config, model.embedding.projection
    kernels = projection.weight.unflatten(1, (config.channels, config.patch_size, config.patch_size))
    with torch.inference_mode():
        pixels = normalise(np.asarray(image)[None], model.normalisation)
        ours = projection(model.embedding.cut(pixels))  # (1, N, D)
        convolved = nn.functional.conv2d(pixels, kernels, projection.bias, stride=config.patch_size)
        return float((ours - convolved.flatten(2).transpose(1, 2)).abs().max())


# The residual stream


@dataclass(frozen=True, eq=False)
class Added:
    """Each (L, T): the length of a token as the block finds it, and of what is added, relative to that."""

    before: np.ndarray
    attention: np.ndarray
    mlp: np.ndarray


def added(trace: ForwardTrace) -> Added:
    before = lengths([block.resid_pre for block in trace.blocks])
    attention = lengths([block.attn_out for block in trace.blocks])
    mlp = lengths([block.mlp_out for block in trace.blocks])
    before = np.where(before > 0, before, 1)
    return Added(before, attention / before, mlp / before)


def depths(trace: ForwardTrace) -> np.ndarray:
    """The residual stream after the embedding and after each block: (L+1, T, D)."""
    return np.stack([trace.blocks[0].resid_pre, *(block.resid_post for block in trace.blocks)]).astype(float)


def token_similarity(trace: ForwardTrace) -> np.ndarray:
    """Cosine similarity of every two tokens after the embedding and after each block: (L+1, T, T)."""
    return cosines(depths(trace))


def mean_of_others(similarity: np.ndarray, token: int) -> np.ndarray:
    """The token's mean cosine with all tokens but itself, at every depth: (L+1, T, T) -> (L+1,)."""
    return np.delete(similarity[:, token], token, axis=-1).mean(-1)


def block_sum(block: BlockTrace, token: int) -> np.ndarray:
    """Equations (2) and (3) for one token: before, + attention, = between, + MLP, = after: (5, D)."""
    steps = block.resid_pre, block.attn_out, block.resid_mid, block.mlp_out, block.resid_post
    return np.stack([step[token] for step in steps])


@dataclass(frozen=True, eq=False)
class ClsPath:
    """Each (L+1,): after the embedding and after each block."""

    length: np.ndarray
    to_final: np.ndarray  # cosine with CLS as it leaves the last block


def cls_path(trace: ForwardTrace) -> ClsPath:
    cls = depths(trace)[:, 0]
    return ClsPath(lengths(cls), cosines(cls)[-1])


# The answer


@dataclass(frozen=True, eq=False)
class LogitLens:
    """Each (L+1, classes): the answer if the model stopped after the embedding, or after each block."""

    logits: np.ndarray
    probabilities: np.ndarray


def logit_lens(trace: ForwardTrace, model: VisionTransformer) -> LogitLens:
    """The last LayerNorm and the head applied to CLS at every depth; the last row is the model's answer."""
    normed = np.stack([layer_norm_numbers(cls, model.norm).out for cls in depths(trace)[:, 0]])
    logits = normed @ weights(model.head.weight).T + weights(model.head.bias)
    return LogitLens(logits, softmax(logits))


def settled_at(lens: LogitLens) -> int:
    """The depth from which on the largest probability is that of the final answer; 0 is the embedding."""
    answers = lens.probabilities.argmax(-1)
    others = np.flatnonzero(answers != answers[-1])
    return int(others[-1]) + 1 if len(others) else 0


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each part of the model put between two classes' logits; all of it together is the difference."""

    embedding: float  # the CLS token with its position
    attention: np.ndarray  # (L,)
    mlp: np.ndarray  # (L,)
    constant: float  # the last LayerNorm's β and the head's biases: the same for every drawing

    @property
    def total(self) -> float:
        return self.embedding + float(self.attention.sum()) + float(self.mlp.sum()) + self.constant


def contributions(
    trace: ForwardTrace, model: VisionTransformer, winner: int, runner_up: int
) -> Contributions:
    """Share out logit[winner] − logit[runner_up].

    CLS at the end is the sum of what it started with and of all that the blocks added. The last LayerNorm
    is no sum, because it divides by a deviation that all parts have made together; with the deviation that
    this drawing has, it is, and so is the head.
    """
    deviation = layer_norm_numbers(trace.blocks[-1].resid_post[0], model.norm).deviation
    direction = weights(model.head.weight)[winner] - weights(model.head.weight)[runner_up]  # (D,)

    def share(added: ArrayLike) -> np.ndarray:
        part = np.asarray(added, float)
        centred = part - part.mean(-1, keepdims=True)
        return centred / deviation * weights(model.norm.weight) @ direction

    biases = weights(model.head.bias)
    return Contributions(
        embedding=float(share(trace.blocks[0].resid_pre[0])),
        attention=share([block.attn_out[0] for block in trace.blocks]),
        mlp=share([block.mlp_out[0] for block in trace.blocks]),
        constant=float(weights(model.norm.bias) @ direction + biases[winner] - biases[runner_up]),
    )


@dataclass(frozen=True)
class Step:
    """One part of a sum on its way from 0 to the total."""

    part: str
    block: int | None  # counted from 0; None for what belongs to no block
    value: float
    before: float  # the sum of all steps before it

    @property
    def after(self) -> float:
        return self.before + self.value


def steps(shares: Contributions) -> list[Step]:
    """Who adds what, in the order of the model; a block adds twice, by attention and by its MLP."""
    blocks = enumerate(zip(shares.attention, shares.mlp, strict=True))
    both = [(part, block, value) for block, pair in blocks
            for part, value in zip(("attention", "MLP"), pair, strict=True)]
    ordered = [("z₀", None, shares.embedding), *both, ("fixed", None, shares.constant)]
    taken: list[Step] = []
    for part, block, value in ordered:
        taken.append(Step(part, block, float(value), taken[-1].after if taken else 0.0))
    return taken


# Arithmetic


def softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def lengths(vectors: np.ndarray | Sequence[np.ndarray]) -> np.ndarray:
    return np.linalg.norm(np.asarray(vectors, float), axis=-1)


def furthest_from_zero(values: np.ndarray) -> int:
    """The most telling one of many numbers, for as long as nobody has chosen another."""
    return int(np.abs(values).argmax())


def cosines(vectors: np.ndarray) -> np.ndarray:
    """Between every two of the vectors; a vector of zeros has no direction and gets 0."""
    vectors = np.asarray(vectors, float)
    size = lengths(vectors)[..., None]
    directions = vectors / np.where(size > 0, size, 1)
    return directions @ np.swapaxes(directions, -1, -2)


def weights(parameter: torch.Tensor) -> np.ndarray:
    return parameter.detach().numpy().astype(float)
