"""The residual stream: what blocks add to it, and what becomes of the tokens."""

from dataclasses import dataclass

import numpy as np

from vit.config import ViTConfig
from vit.explain.arithmetic import cosines, lengths
from vit.trace import BlockTrace, ForwardTrace


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


def read_by_head(stream: np.ndarray, config: ViTConfig) -> np.ndarray:
    """What the answer is read from, of (…, T, D): CLS, but in two variants the mean of the patches, or the last."""
    if config.variant == "mean-pooling":
        return stream[..., 1:, :].mean(-2)
    return stream[..., -1 if config.variant == "causal-last" else 0, :]


def is_a_sum(config: ViTConfig) -> bool:
    """Whether the stream is what it started with plus all that blocks have added, as in the paper."""
    return config.variant not in ("post-norm", "no-residuals")


def adds_most(sizes: Added, token: int) -> int:
    """The block that adds the most to the token, for the length that it has when the block finds it."""
    return int((sizes.attention + sizes.mlp)[:, token].argmax())


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
