"""Weights to begin with that know two things which large models learn by themselves: where a patch is, and that a
token looks first at what is like itself (Trockman and Kolter, "Mimetic Initialization of Self-Attention Layers", 2023).

Only the numbers differ at the beginning: the model is the paper's, and all of it is learned.
"""

import math

import torch
from torch import Tensor

from vit.model import VisionTransformer

LIKENESS, MIXING = 0.7, 0.4  # how much of q·k, and of what values become, is the identity, and how much is chance
POSITIONS = 0.5  # how far they swing


@torch.no_grad()
def begin(model: VisionTransformer) -> None:
    """Uses torch's global generator."""
    model.embedding.projection.reset_parameters()
    model.embedding.position_embeddings[1:] = POSITIONS * waves(model.config.grid, model.config.width)
    D, heads, d_k = model.config.width, model.config.heads, model.config.head_width
    for block in model.blocks:
        attention = block.attention
        for head in range(heads):
            u, s, v = torch.linalg.svd(LIKENESS * (chance(D) + torch.eye(D)))
            rows, root = slice(head * d_k, (head + 1) * d_k), s[:d_k].sqrt()[:, None]
            attention.W_q.weight[rows] = root * u[:, :d_k].T
            attention.W_k.weight[rows] = root * v[:d_k]
        u, s, v = torch.linalg.svd(MIXING * (chance(D) - torch.eye(D)))
        attention.W_v.weight.copy_(s.sqrt()[:, None] * v)
        attention.out_proj.weight.copy_(u * s.sqrt())


def chance(D: int) -> Tensor:
    return torch.randn(D, D) / math.sqrt(D)


def waves(grid: int, width: int) -> Tensor:
    """(grid², width): a quarter each of sines and cosines of a patch's row, and of its column."""
    frequencies = 10_000.0 ** -(torch.arange(width // 4) / (width // 4))
    angles = torch.arange(grid)[:, None] * frequencies  # (grid, width/4)
    of_one_side = torch.cat([angles.sin(), angles.cos()], 1)
    rows, columns = of_one_side.repeat_interleave(grid, 0), of_one_side.repeat(grid, 1)
    return torch.cat([rows, columns], 1)
