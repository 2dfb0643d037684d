"""Who looks at whom."""

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from vit.explain.arithmetic import softmax
from vit.trace import BlockTrace, ForwardTrace


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


class Hardest(NamedTuple):
    """The largest weight that any head puts on one patch; all counted from 0."""

    layer: int
    head: int
    patch: int
    share: float


def hardest_look(trace: ForwardTrace, token: int) -> Hardest:
    """Which head of which block looks hardest at one single patch, for this token."""
    rows = np.stack([block.pattern[:, token, 1:] for block in trace.blocks])  # (L, h, N)
    layer, head, patch = map(int, np.unravel_index(rows.argmax(), rows.shape))
    return Hardest(layer, head, patch, float(rows[layer, head, patch]))


def causal_pattern(block: BlockTrace, head: int) -> np.ndarray:
    """The pattern that a head's scores would give under GPT's mask: (T, T)."""
    seen = np.tri(block.scores.shape[-1], dtype=bool)
    return softmax(np.where(seen, block.scores[head], -np.inf))


def rollout(trace: ForwardTrace) -> np.ndarray:
    """What reaches CLS from each token through all blocks, if a block hands on half of what a token holds and half of
    what its heads look at on average (Abnar and Zuidema, 2020): (T,), sums to 1."""
    itself = np.eye(len(trace.tokens))
    reached = itself
    for block in trace.blocks:
        reached = (itself + block.pattern.mean(0, dtype=float)) / 2 @ reached
    return reached[0]
