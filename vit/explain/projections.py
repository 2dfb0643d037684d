"""The two ends of attention: how a token becomes query, key and value, and what becomes of all heads' results."""

from typing import Literal

import numpy as np

from vit.explain.arithmetic import weights
from vit.explain.products import DotProduct, dot_product
from vit.model import VisionTransformer
from vit.trace import BlockTrace, ForwardTrace

Kind = Literal["q", "k", "v"]


def read_by_attention(trace: ForwardTrace, model: VisionTransformer, layer: int) -> np.ndarray:
    """What queries, keys and values are made of: (T, D). LN(z), but z itself where the norm comes after the sum."""
    block = trace.blocks[layer]
    return block.resid_pre if model.config.variant == "post-norm" else block.ln1


def projection_column(model: VisionTransformer, layer: int, kind: Kind, head: int, component: int) -> np.ndarray:
    """The column of W_q, W_k or W_v that makes one number of one head: (D,)."""
    linear = getattr(model.blocks[layer].attention, f"W_{kind}")
    return weights(linear.weight)[head * model.config.head_width + component]


def projected(
    trace: ForwardTrace, model: VisionTransformer, layer: int, kind: Kind, head: int, token: int, component: int
) -> DotProduct:
    """LN(z)·W + b for one number of a query, key or value."""
    bias = getattr(model.blocks[layer].attention, f"W_{kind}").bias[head * model.config.head_width + component].item()
    return dot_product(
        read_by_attention(trace, model, layer)[token], projection_column(model, layer, kind, head, component), bias,
        total=getattr(trace.blocks[layer], kind)[head, token, component],
    )


def concatenated(block: BlockTrace, token: int) -> np.ndarray:
    """What all heads bring to a token, one after the other: (h·d_k,) = (D,)."""
    return block.heads[:, token].reshape(-1)


def output_column(model: VisionTransformer, layer: int, component: int) -> np.ndarray:
    """The column of the output projection W_o that makes one of the D numbers: (D,)."""
    return weights(model.blocks[layer].attention.out_proj.weight)[component]


def mixed(trace: ForwardTrace, model: VisionTransformer, layer: int, token: int, component: int) -> DotProduct:
    """[head_1; …; head_h]·W_o + b for one number of what attention adds."""
    block, bias = trace.blocks[layer], model.blocks[layer].attention.out_proj.bias[component].item()
    return dot_product(concatenated(block, token), output_column(model, layer, component), bias,
                       total=block.attn_out[token, component])


def put_in_by_heads(
    trace: ForwardTrace, model: VisionTransformer, layer: int, token: int, component: int
) -> np.ndarray:
    """How much of that number each head puts in: (h,). With the bias they are all of it."""
    products = concatenated(trace.blocks[layer], token).astype(float) * output_column(model, layer, component)
    return products.reshape(model.config.heads, -1).sum(-1)
