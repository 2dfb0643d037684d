"""Probes that change a forward pass. They combine: each gets what the ones before it gave back."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import sqrt

import torch
from torch import Tensor

from vit.config import ViTConfig


@dataclass(frozen=True)
class MaskPatches:
    """Nobody can look at these patches (counted from 0): softmax gives their columns nothing."""

    patches: Collection[int]

    def __call__(self, name: str, block: int | None, value: Tensor) -> Tensor:
        if name != "scores" or not self.patches:
            return value
        hidden = torch.zeros(value.shape[-1], dtype=torch.bool)
        hidden[[patch + 1 for patch in self.patches]] = True  # token 0 is CLS
        return value.masked_fill(hidden, -torch.inf)


@dataclass(frozen=True)
class HeadsOff:
    """These heads of these blocks contribute nothing: {block: heads}, counted from 0. The output bias stays."""

    heads: Mapping[int, Collection[int]]

    def __call__(self, name: str, block: int | None, value: Tensor) -> Tensor:
        if name != "heads" or block is None or not self.heads.get(block):
            return value
        silenced = value.clone()
        silenced[:, list(self.heads[block])] = 0
        return silenced


@dataclass(frozen=True)
class AttentionOff:
    """Attention in these blocks (counted from 0) adds nothing to the residual stream."""

    blocks: Collection[int]

    def __call__(self, name: str, block: int | None, value: Tensor) -> Tensor:
        return torch.zeros_like(value) if name == "attn_out" and block in self.blocks else value


@dataclass(frozen=True)
class MlpOff:
    """The MLPs of these blocks (counted from 0) add nothing to the residual stream."""

    blocks: Collection[int]

    def __call__(self, name: str, block: int | None, value: Tensor) -> Tensor:
        return torch.zeros_like(value) if name == "mlp_out" and block in self.blocks else value


@dataclass(frozen=True)
class PositionsOff:
    """No token knows where it is."""

    def __call__(self, name: str, block: int | None, value: Tensor) -> Tensor:
        return torch.zeros_like(value) if name == "position_embeddings" else value


@dataclass(frozen=True)
class ShufflePatches:
    """The same patches in another order, before they are embedded and told their positions."""

    seed: int

    def order(self, patches: int) -> Tensor:
        return torch.randperm(patches, generator=torch.Generator().manual_seed(self.seed))

    def __call__(self, name: str, block: int | None, value: Tensor) -> Tensor:
        return value[:, self.order(value.shape[1])] if name == "patches" else value


@dataclass(frozen=True)
class ScalingOff:
    """softmax(QKᵀ) instead of softmax(QKᵀ/√d_k)."""

    config: ViTConfig

    def __call__(self, name: str, block: int | None, value: Tensor) -> Tensor:
        return value * sqrt(self.config.head_width) if name == "scores" else value


@dataclass(frozen=True)
class CausalMask:
    """What GPT would see: each token looks at itself and at those before it. CLS, the first, sees only itself."""

    def __call__(self, name: str, block: int | None, value: Tensor) -> Tensor:
        if name != "scores":
            return value
        future = torch.ones(value.shape[-2:], dtype=torch.bool).triu(diagonal=1)
        return value.masked_fill(future, -torch.inf)
