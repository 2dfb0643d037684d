"""The whole machine as one token meets it: what the Machine page unfolds, from the trace and the weights."""

from dataclasses import dataclass

import numpy as np
from torch import nn

from vit import explain
from vit.config import ViTConfig
from vit.model import VisionTransformer
from vit.trace import BlockTrace, ForwardTrace

LARGEST = 3  # products of a sum that are told one by one
UNFOLDED = 16  # numbers of a vector whose sums are kept: the largest
LOOKED_AT = 8  # tokens of which a head's keys and values are kept: those it looks at most

NORM_PLACE = {"post-norm": "after", "no-residuals": "alone"}  # where LayerNorm stands; in all others before each part
READ_BY_HEAD = {"mean-pooling": "mean", "causal-last": "last"}  # in all others CLS
POSITIONS = {"no-positions": "none", "sine-positions": "sine"}  # in all others learned


def norm_place(config: ViTConfig) -> str:
    """before: added to the stream, as in the paper; after: normalised after the sum; alone: nothing is added up."""
    return NORM_PLACE.get(config.variant, "before")


def read_by_head(config: ViTConfig) -> str:
    return READ_BY_HEAD.get(config.variant, "cls")


def positions(config: ViTConfig) -> str:
    return POSITIONS.get(config.variant, "learned")


def no_lens(config: ViTConfig) -> str:
    """Why the answer cannot be read off after each block; nothing where it can."""
    if norm_place(config) == "after":
        return "Each block ends in a LayerNorm of its own, so no answer can be read off before the last block."
    if norm_place(config) == "alone":
        return "Each block replaces what it finds, so no answer can be read off before the last block."
    if read_by_head(config) != "cls":
        return "The classifier does not read CLS in this model, so no answer can be read off it after each block."
    return ""


@dataclass(frozen=True, eq=False)
class Sums:
    """Some numbers of a vector, each x·w + bias, as their largest products; the rest is what the total lacks."""

    place: np.ndarray  # (n,) which numbers of the vector
    index: np.ndarray  # (n, 3) which of x's numbers the products have
    weight: np.ndarray  # (n, 3) and by what these are multiplied
    bias: np.ndarray  # (n,)
    total: np.ndarray  # (n,) as the layer gives it


def sums(x: np.ndarray, layer: nn.Linear, place: np.ndarray) -> Sums:
    rows = layer.weight.detach().numpy()[place]  # (n, in)
    bias = layer.bias.detach().numpy()[place]
    products = rows.astype(float) * x
    index = np.argsort(-np.abs(products), axis=-1, kind="stable")[:, :LARGEST]
    return Sums(place, index, np.take_along_axis(rows, index, -1), bias, products.sum(-1) + bias)


def largest(values: np.ndarray) -> np.ndarray:
    """Where the largest numbers of a vector stand, in the order of their places."""
    return np.sort(np.argsort(-np.abs(values), kind="stable")[:UNFOLDED])


def largest_of_each(values: np.ndarray) -> np.ndarray:
    """(h, d_k): where each head's largest number stands among all h·d_k."""
    return np.abs(values).argmax(-1) + np.arange(len(values)) * values.shape[-1]


def block_sums(block: BlockTrace, model: VisionTransformer, layer: int, token: int) -> dict[str, Sums]:
    """Of all that a block multiplies by weights for one token: in each head one number of q, k and v, and the largest
    numbers of what attention and MLP make."""
    weights = model.blocks[layer]
    after = norm_place(model.config) == "after"
    into_heads, into_mlp = (block.resid_pre, block.ln1) if after else (block.ln1, block.ln2)
    attention = weights.attention
    made = {
        name: sums(into_heads[token], linear, largest_of_each(values[:, token]))
        for name, linear, values in (("q", attention.W_q, block.q), ("k", attention.W_k, block.k),
                                     ("v", attention.W_v, block.v))
    }
    hidden = block.mlp_hidden[token]
    return made | {
        "attn_out": sums(block.heads[:, token].ravel(), attention.out_proj, largest(block.attn_out[token])),
        "mlp_hidden": sums(into_mlp[token], weights.expand, largest(hidden)),
        "mlp_out": sums(hidden, weights.contract, largest(block.mlp_out[token])),
    }


def read_at_the_end(trace: ForwardTrace, config: ViTConfig) -> np.ndarray:
    """What the last LayerNorm gets: (D,)."""
    z = trace.blocks[-1].resid_post
    return {"cls": z[0], "mean": z[1:].mean(0), "last": z[-1]}[read_by_head(config)]


def most_looked_at(pattern: np.ndarray) -> np.ndarray:
    """(h, T) to (h, 8), the most looked at first."""
    return np.argsort(-pattern, axis=-1, kind="stable")[:, :LOOKED_AT]


def class_sums(trace: ForwardTrace, model: VisionTransformer, classes: np.ndarray) -> Sums:
    return sums(trace.cls_out, model.head, classes)


def lens(trace: ForwardTrace, model: VisionTransformer) -> np.ndarray | None:
    """What the model would answer after the embedding and after each block: (L+1, classes); None where that is no
    answer of the model."""
    return None if no_lens(model.config) else explain.logit_lens(trace, model).probabilities
