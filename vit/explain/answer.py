"""How the answer grows, and who is for it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from vit.explain.arithmetic import softmax, weights
from vit.explain.products import layer_norm_numbers
from vit.explain.stream import depths, read_by_head
from vit.model import VisionTransformer
from vit.trace import ForwardTrace


@dataclass(frozen=True, eq=False)
class LogitLens:
    """Each (L+1, classes): the answer if the model stopped after the embedding, or after each block."""

    logits: np.ndarray
    probabilities: np.ndarray


def logit_lens(trace: ForwardTrace, model: VisionTransformer) -> LogitLens:
    """The last LayerNorm and the head applied at every depth; the last row is the model's answer."""
    read = read_by_head(depths(trace), model.config)  # (L+1, D)
    normed = np.stack([layer_norm_numbers(at_depth, model.norm).out for at_depth in read])
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
    def blocks(self) -> np.ndarray:
        """(L,): both parts of each block."""
        return self.attention + self.mlp

    @property
    def total(self) -> float:
        return self.embedding + float(self.attention.sum()) + float(self.mlp.sum()) + self.constant


def contributions(
    trace: ForwardTrace, model: VisionTransformer, winner: int, runner_up: int
) -> Contributions:
    """Share out logit[winner] − logit[runner_up], where the stream is a sum.

    CLS at the end is the sum of what it started with and of all that the blocks added. The last LayerNorm
    is no sum, because it divides by a deviation that all parts have made together; with the deviation that
    this drawing has, it is, and so is the head.
    """
    def read(stream: np.ndarray) -> np.ndarray:
        return read_by_head(stream.astype(float), model.config)

    deviation = layer_norm_numbers(read(trace.blocks[-1].resid_post), model.norm).deviation
    direction = weights(model.head.weight)[winner] - weights(model.head.weight)[runner_up]  # (D,)

    def share(added: ArrayLike) -> np.ndarray:
        part = np.asarray(added, float)
        centred = part - part.mean(-1, keepdims=True)
        return centred / deviation * weights(model.norm.weight) @ direction

    biases = weights(model.head.bias)
    return Contributions(
        embedding=float(share(read(trace.blocks[0].resid_pre))),
        attention=share([read(block.attn_out) for block in trace.blocks]),
        mlp=share([read(block.mlp_out) for block in trace.blocks]),
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
