"""Models of other makers with random weights, and the files that they would write."""

import json
from functools import partial

import torch
from safetensors.torch import save_file
from torch import nn

from vit.config import ViTConfig
from vit.torchvision_import import import_torchvision

SHAPES = {"tiny": (192, 3), "small": (384, 6), "base": (768, 12)}  # width and heads


def enliven(model: nn.Module, seed: int = 0) -> nn.Module:
    """Weights with which every part matters: fresh ones are so small that mistakes would hide."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(generator=generator)
            if parameter.dim() == 1 and name.endswith("weight"):
                parameter.mul_(0.3).add_(1)
            elif parameter.dim() in (2, 4):
                parameter.mul_(0.5 / parameter[0].numel() ** 0.5)
            else:
                parameter.mul_(0.3)
    return model.eval()


def timm_vit(width: int = 192, heads: int = 3, depth: int = 12, size: int = 224, patch: int = 16, classes: int = 1000,
             epsilon: float = 1e-6, **options) -> nn.Module:
    import_torchvision()  # which timm needs
    import timm

    return enliven(timm.models.VisionTransformer(
        img_size=size, patch_size=patch, embed_dim=width, depth=depth, num_heads=heads, num_classes=classes,
        norm_layer=partial(nn.LayerNorm, eps=epsilon), **options))


def torchvision_vit(width: int = 192, heads: int = 3, depth: int = 12, size: int = 224, patch: int = 16,
                    classes: int = 1000, **options) -> nn.Module:
    models = import_torchvision().models
    return enliven(models.VisionTransformer(
        image_size=size, patch_size=patch, num_layers=depth, num_heads=heads, hidden_dim=width, mlp_dim=4 * width,
        num_classes=classes, **options))


# As transformers' own script renames timm's weights; q, k and v are thirds of one there.
RENAMED = {
    "cls_token": "vit.embeddings.cls_token", "pos_embed": "vit.embeddings.position_embeddings",
    "patch_embed.proj.": "vit.embeddings.patch_embeddings.projection.", "norm.": "vit.layernorm.",
    "head.": "classifier.",
}
RENAMED_IN_BLOCKS = {
    "norm1": "layernorm_before", "norm2": "layernorm_after", "attn.proj": "attention.output.dense",
    "mlp.fc1": "intermediate.dense", "mlp.fc2": "output.dense",
}


def as_transformers(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """timm's weights under the names that transformers.ViTForImageClassification documents."""
    renamed = {}
    for name, value in weights.items():
        if not name.startswith("blocks."):
            old = next(old for old in RENAMED if name.startswith(old))
            renamed[RENAMED[old] + name.removeprefix(old)] = value
            continue
        _, number, rest = name.split(".", 2)
        part, kind = rest.rsplit(".", 1)
        layer, width = f"vit.encoder.layer.{number}", len(value) // 3
        if part == "attn.qkv":
            for place, word in enumerate(("query", "key", "value")):
                third = value[place * width : (place + 1) * width]
                renamed[f"{layer}.attention.attention.{word}.{kind}"] = third.clone()
        else:
            renamed[f"{layer}.{RENAMED_IN_BLOCKS[part]}.{kind}"] = value
    return renamed


def write(folder, weights: dict[str, torch.Tensor], **configs: dict):
    """model.safetensors with config.json and what else there is, as they lie on the hub."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "model.safetensors"
    save_file({name: value.detach().contiguous() for name, value in weights.items()}, path, {"format": "pt"})
    for name, content in configs.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return path


def some_pictures(config: ViTConfig, count: int = 2) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(count, config.channels, config.image_size, config.image_size, generator=generator)
