"""Models for tests."""

import torch

from vit.config import ViTConfig
from vit.model import VisionTransformer
from vit.variants import transformer

SMALL = ViTConfig(patch_size=7, width=32, depth=3, heads=4)


def make_lively(config: ViTConfig, seed: int = 0) -> VisionTransformer:
    """A model in which every weight matters: fresh ones are so small that mistakes would hide."""
    with torch.device("meta"):
        model = transformer(config)
    model.to_empty(device="cpu")
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:
                parameter.copy_(transformer(config).get_parameter(name))
                continue
            parameter.normal_(generator=generator)
            if "norm" in name and name.endswith("weight"):
                parameter.mul_(0.3).add_(1)
            elif parameter.dim() == 2 and "position" not in name:
                parameter.mul_(1.2 / parameter.shape[1] ** 0.5)
            else:
                parameter.mul_(0.3)
    return model.eval()
