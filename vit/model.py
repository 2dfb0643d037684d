"""A Vision Transformer, built by hand, to be read from top to bottom beside the paper
("An Image is Worth 16x16 Words", Dosovitskiy et al. 2021); (1) to (4) mark its equations.

    B  images in the batch          h    heads
    C  channels of an image         d_k  width of a head, D/h
    P  side of a patch              L    blocks
    N  patches in an image          M    width of the MLP's hidden layer
    D  width of a token             z    the residual stream: one vector of width D per token

Every intermediate value passes through a probe, `value = probe(name, block, value)`, at the place
where it is computed. A probe that keeps what it sees records a forward pass, one that gives back
something else changes it, and without one the value passes untouched. The model itself keeps nothing.
"""

from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from vit.config import ViTConfig

Probe = Callable[[str, int | None, Tensor], Tensor]
See = Callable[[str, Tensor], Tensor]  # a probe inside a block, which knows the block's number


def untouched(name: str, block: int | None, value: Tensor) -> Tensor:
    return value


def unseen(name: str, value: Tensor) -> Tensor:
    return value


def inside(block: int, probe: Probe) -> See:
    return lambda name, value: probe(name, block, value)


class PatchEmbedding(nn.Module):
    """(1)  z_0 = [x_class; x_p¹E; x_p²E; …; x_pᴺE] + E_pos"""

    def __init__(self, config: ViTConfig):
        super().__init__()
        self.patch_size = config.patch_size
        self.projection = nn.Linear(config.patch_values, config.width)  # E and its bias
        self.cls_token = nn.Parameter(torch.empty(config.width))
        self.position_embeddings = nn.Parameter(torch.empty(config.tokens, config.width))

    def cut(self, images: Tensor) -> Tensor:
        """Images to rows of patches in reading order, each flattened as a Conv2d would flatten it."""
        P = self.patch_size
        rows = images.unflatten(3, (-1, P)).unflatten(2, (-1, P))  # (B, C, H/P, P, W/P, P)
        return rows.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)  # (B, N, C·P·P)

    def forward(self, images: Tensor, probe: Probe) -> Tensor:
        patches = probe("patches", None, self.cut(images))
        embedded = probe("patch_embeddings", None, self.projection(patches))  # (B, N, D)
        cls = probe("cls_token", None, self.cls_token)
        positions = probe("position_embeddings", None, self.position_embeddings)
        sequence = torch.cat([cls.expand(len(images), 1, -1), embedded], dim=1)  # (B, N+1, D)
        return sequence + positions


class MultiHeadSelfAttention(nn.Module):
    """MSA: each head computes softmax(QKᵀ/√d_k)V, and the heads' results are mixed by one projection."""

    def __init__(self, config: ViTConfig):
        super().__init__()
        self.heads = config.heads
        self.scale = config.head_width**-0.5
        self.W_q = nn.Linear(config.width, config.width)
        self.W_k = nn.Linear(config.width, config.width)
        self.W_v = nn.Linear(config.width, config.width)
        self.out_proj = nn.Linear(config.width, config.width)

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (B, h, N+1, d_k)

    def forward(self, asking: Tensor, x: Tensor, see: See) -> Tensor:
        q = see("q", self.split(self.W_q(asking)))
        k = see("k", self.split(self.W_k(x)))
        v = see("v", self.split(self.W_v(x)))
        scores = see("scores", (q * self.scale) @ k.mT)  # (B, h, N+1, N+1)
        pattern = see("pattern", scores.softmax(dim=-1))
        heads = see("heads", pattern @ v)  # (B, h, N+1, d_k)
        return self.out_proj(heads.transpose(1, 2).flatten(2))  # (B, N+1, D)


class TransformerBlock(nn.Module):
    """(2)  z'_l = MSA(LN(z_{l-1})) + z_{l-1}
    (3)  z_l  = MLP(LN(z'_l)) + z'_l"""

    def __init__(self, config: ViTConfig):
        super().__init__()
        self.norm1 = nn.LayerNorm(config.width, eps=1e-6)
        self.attention = MultiHeadSelfAttention(config)
        self.norm2 = nn.LayerNorm(config.width, eps=1e-6)
        self.expand = nn.Linear(config.width, config.mlp_width)
        self.activation = nn.GELU()
        self.contract = nn.Linear(config.mlp_width, config.width)
        self.dropout = nn.Dropout(config.dropout)

    def msa(self, x: Tensor, see: See) -> Tensor:
        return see("attn_out", self.dropout(self.attention(x, x, see)))

    def mlp(self, x: Tensor, see: See) -> Tensor:
        hidden = see("mlp_hidden", self.activation(self.expand(x)))  # (B, N+1, M)
        return see("mlp_out", self.dropout(self.contract(self.dropout(hidden))))  # (B, N+1, D)

    def forward(self, z: Tensor, see: See) -> Tensor:
        z = see("resid_pre", z)
        z = z + self.msa(see("ln1", self.norm1(z)), see)
        z = see("resid_mid", z)
        z = z + self.mlp(see("ln2", self.norm2(z)), see)
        return see("resid_post", z)

    def for_cls_alone(self, z: Tensor) -> Tensor:
        """The same for CLS, where nobody looks at the others: 7 % of a training step at depth 10, 14 % at depth 3."""
        x, cls = self.norm1(z), z[:, :1]
        cls = cls + self.dropout(self.attention(x[:, :1], x, unseen))
        return cls + self.mlp(self.norm2(cls), unseen)  # (B, 1, D)


class VisionTransformer(nn.Module):
    """Patches in, blocks in between, and a linear head that reads the CLS token."""

    Block: type[TransformerBlock] = TransformerBlock  # what vit/variants.py may replace

    def __init__(self, config: ViTConfig, generator: torch.Generator | None = None):
        super().__init__()
        self.config = config
        self.normalisation = config.normalisation  # of its input, done before the model sees it
        self.embedding = PatchEmbedding(config)
        self.dropout = nn.Dropout(config.dropout)
        blocks = nn.ModuleList(self.Block(config) for _ in range(config.depth))
        self.blocks = cast(Sequence[TransformerBlock], blocks)
        self.norm = nn.LayerNorm(config.width, eps=1e-6)
        self.head = nn.Linear(config.width, config.classes)
        self.initialise(generator)

    def initialise(self, generator: torch.Generator | None = None) -> None:
        """Truncated normal, σ = 0.02, for all weights, CLS and positions; biases start at 0.

        Drawn from torch's global generator, unless there is another: a server with many visitors seeds no globals.
        """
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2 or name == "embedding.cls_token":
                nn.init.trunc_normal_(parameter, std=0.02, generator=generator)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, images: Tensor, probe: Probe | None = None) -> Tensor:
        config = self.config
        expected = (config.channels, config.image_size, config.image_size)
        if images.dim() != 4 or images.shape[1:] != expected:
            raise ValueError(f"This model reads images of shape (B, {', '.join(map(str, expected))}), "
                             f"not {tuple(images.shape)}.")
        only_cls_counts = self.training and probe is None  # the head reads nothing else of the last block
        probe = probe or untouched
        z = probe("tokens", None, self.dropout(self.embedding(images, probe)))  # (B, N+1, D)
        for number, block in enumerate(self.blocks):
            if only_cls_counts and block is self.blocks[-1]:
                z = block.for_cls_alone(z)
            else:
                z = block(z, inside(number, probe))
        y = probe("cls_out", None, self.norm(z[:, 0]))  # (4)  y = LN(z_L⁰), (B, D)
        return probe("logits", None, self.head(y))  # (B, classes)
