"""What torchvision, timm and transformers call the weights that we have too. Their shapes differ in axes of length 1
and in how a patch is laid out; two of them keep the weights of q, k and v in one."""

from dataclasses import dataclass

import torch
from torch import Tensor

from vit.config import ViTConfig
from vit.model import VisionTransformer

LETTERS = "qkv"


@dataclass(frozen=True)
class Maker:
    """Names stand without their last part where that is weight or bias."""

    title: str
    outside: dict[str, str]  # ours to theirs
    block: str  # how names inside a block begin
    inside: dict[str, str]
    fused: str = ""  # q, k and v in one, if they are

    def their_name(self, ours: str) -> tuple[str, int | None]:
        """Where a weight of ours lies with them, and which third of it."""
        if ours in self.outside:
            return self.outside[ours], None
        stem, kind = ours.rsplit(".", 1)
        if not stem.startswith("blocks."):
            return f"{self.outside[stem]}.{kind}", None
        _, number, part = stem.split(".", 2)
        block = self.block.format(number)
        if self.fused and part.startswith("attention.W_"):
            return block + self.fused.format(kind), LETTERS.index(part[-1])
        return f"{block}{self.inside[part]}.{kind}", None


TORCHVISION = Maker(
    "torchvision",
    {"embedding.cls_token": "class_token", "embedding.position_embeddings": "encoder.pos_embedding",
     "embedding.projection": "conv_proj", "norm": "encoder.ln", "head": "heads.head"},
    "encoder.layers.encoder_layer_{}.",
    {"norm1": "ln_1", "norm2": "ln_2", "attention.out_proj": "self_attention.out_proj", "expand": "mlp.0",
     "contract": "mlp.3"},
    fused="self_attention.in_proj_{}",
)
TIMM = Maker(
    "timm",
    {"embedding.cls_token": "cls_token", "embedding.position_embeddings": "pos_embed",
     "embedding.projection": "patch_embed.proj", "norm": "norm", "head": "head"},
    "blocks.{}.",
    {"norm1": "norm1", "norm2": "norm2", "attention.out_proj": "attn.proj", "expand": "mlp.fc1",
     "contract": "mlp.fc2"},
    fused="attn.qkv.{}",
)
TRANSFORMERS = Maker(
    "transformers",
    {"embedding.cls_token": "vit.embeddings.cls_token",
     "embedding.position_embeddings": "vit.embeddings.position_embeddings",
     "embedding.projection": "vit.embeddings.patch_embeddings.projection", "norm": "vit.layernorm",
     "head": "classifier"},
    "vit.encoder.layer.{}.",
    {"norm1": "layernorm_before", "norm2": "layernorm_after", "attention.W_q": "attention.attention.query",
     "attention.W_k": "attention.attention.key", "attention.W_v": "attention.attention.value",
     "attention.out_proj": "attention.output.dense", "expand": "intermediate.dense", "contract": "output.dense"},
)
MAKERS = (TORCHVISION, TIMM, TRANSFORMERS)


def to_theirs(maker: Maker, config: ViTConfig, ours: dict[str, Tensor]) -> dict[str, Tensor]:
    shapes = {
        "embedding.cls_token": (1, 1, config.width), "embedding.position_embeddings": (1, config.tokens, config.width),
        "embedding.projection.weight": (config.width, config.channels, config.patch_size, config.patch_size),
    }
    parts: dict[str, list[Tensor]] = {}
    for name, value in ours.items():  # q, k and v come in this order
        parts.setdefault(maker.their_name(name)[0], []).append(value.reshape(shapes.get(name, value.shape)))
    return {name: torch.cat(values) if len(values) > 1 else values[0] for name, values in parts.items()}


def to_ours(maker: Maker, shapes: dict[str, torch.Size], theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """`shapes` are those of our weights, by their names."""
    ours = {}
    for name, shape in shapes.items():
        their_name, third = maker.their_name(name)
        value = theirs[their_name]
        ours[name] = (value if third is None else value.chunk(3)[third]).reshape(shape)
    return ours


def to_torchvision(model: VisionTransformer) -> dict[str, Tensor]:
    """Our weights under the names and shapes of torchvision.models.VisionTransformer."""
    return to_theirs(TORCHVISION, model.config, model.state_dict())


def to_timm(model: VisionTransformer) -> dict[str, Tensor]:
    """The same for timm.models.VisionTransformer."""
    return to_theirs(TIMM, model.config, model.state_dict())


def to_transformers(model: VisionTransformer) -> dict[str, Tensor]:
    """The same for transformers.ViTForImageClassification."""
    return to_theirs(TRANSFORMERS, model.config, model.state_dict())
