"""The Vision Transformers of other projects, in the shape of one of ours."""

from torch import nn

from vit.config import ViTConfig
from vit.torchvision_import import import_torchvision


def torchvision_vit(config: ViTConfig) -> nn.Module:
    model = import_torchvision().models.VisionTransformer(
        image_size=config.image_size, patch_size=config.patch_size, num_layers=config.depth,
        num_heads=config.heads, hidden_dim=config.width, mlp_dim=config.mlp_width,
        dropout=config.dropout, num_classes=config.classes,
    )
    # It knows only colour; a projection like its own for other numbers of channels.
    P = config.patch_size
    model.conv_proj = nn.Conv2d(config.channels, config.width, kernel_size=P, stride=P)
    return model


def timm_vit(config: ViTConfig) -> nn.Module:
    import_torchvision()  # timm imports it too
    from timm.models import VisionTransformer

    return VisionTransformer(
        img_size=config.image_size, patch_size=config.patch_size, in_chans=config.channels,
        num_classes=config.classes, embed_dim=config.width, depth=config.depth, num_heads=config.heads,
        mlp_ratio=config.mlp_ratio,
    )


def lucidrains_vit(config: ViTConfig) -> nn.Module:
    import_torchvision()  # vit_pytorch imports it too
    from vit_pytorch import ViT

    return ViT(
        image_size=config.image_size, patch_size=config.patch_size, channels=config.channels,
        num_classes=config.classes, dim=config.width, depth=config.depth, heads=config.heads,
        dim_head=config.head_width, mlp_dim=config.mlp_width,
    )


PEERS = {"torchvision": torchvision_vit, "timm": timm_vit, "vit-pytorch": lucidrains_vit}
