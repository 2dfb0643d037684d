"""Models that differ from the paper in one thing each: vit/model.py with a few lines changed.

From one seed a variant begins with the weights that the paper's model begins with, and it tells a probe the same names.
The CNN alone is another thing altogether, to compare with.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from vit.config import ViTConfig
from vit.interventions import CausalMask
from vit.model import Probe, See, TransformerBlock, VisionTransformer, untouched

NOT_OPENED = "a CNN has no patches, tokens or attention that these pages could show."


class Variant(VisionTransformer):
    """Goes the whole way also while it learns: the shortcut through the last block is right for the paper alone."""

    def forward(self, images: Tensor, probe: Probe | None = None) -> Tensor:
        return super().forward(images, self.within(probe or untouched))

    def within(self, probe: Probe) -> Probe:
        """What the model does to its values on their way to the probe."""
        return probe


class PostNormBlock(TransformerBlock):
    """z'_l = LN(MSA(z_{l-1}) + z_{l-1}),  z_l = LN(MLP(z'_l) + z'_l)"""

    def forward(self, z: Tensor, see: See) -> Tensor:
        z = see("resid_pre", z)
        z = see("resid_mid", z + self.msa(z, see))
        z = see("ln1", self.norm1(z))
        z = see("ln2", self.norm2(z + self.mlp(z, see)))
        return see("resid_post", z)


class PostNorm(Variant):
    Block = PostNormBlock


class BlockWithoutResiduals(TransformerBlock):
    """z'_l = MSA(LN(z_{l-1})),  z_l = MLP(LN(z'_l))"""

    def forward(self, z: Tensor, see: See) -> Tensor:
        z = see("resid_pre", z)
        z = see("resid_mid", self.msa(see("ln1", self.norm1(z)), see))
        z = see("resid_post", self.mlp(see("ln2", self.norm2(z)), see))
        return z


class NoResiduals(Variant):
    Block = BlockWithoutResiduals


class MeanPooling(Variant):
    """y = LN(mean of z_L over the patches). Nobody can look at CLS, so the patches live as if there were none."""

    def __init__(self, config: ViTConfig, generator: torch.Generator | None = None):
        super().__init__(config, generator)
        read_in_place_of_cls(self, lambda z: z[:, 1:].mean(1, keepdim=True))

    def within(self, probe: Probe) -> Probe:
        def without_cls(name: str, block: int | None, value: Tensor) -> Tensor:
            if name == "scores":
                cls = torch.arange(value.shape[-1], device=value.device) == 0
                value = value.masked_fill(cls, -torch.inf)
            return probe(name, block, value)

        return without_cls


class Causal(Variant):
    """Each token looks at itself and those before it. CLS is the first, so it sees nothing of the image."""

    def within(self, probe: Probe) -> Probe:
        mask = CausalMask()
        return lambda name, block, value: probe(name, block, mask(name, block, value))


class CausalLast(Causal):
    """As GPT does it: the head reads the last token, the one that sees all others."""

    def __init__(self, config: ViTConfig, generator: torch.Generator | None = None):
        super().__init__(config, generator)
        read_in_place_of_cls(self, lambda z: z[:, -1:])


def read_in_place_of_cls(model: VisionTransformer, read: Callable[[Tensor], Tensor]) -> None:
    """The head reads the first token: let the last block hand on, as the only one, what `read` makes of all."""
    last = model.blocks[-1]
    last.register_forward_hook(lambda block, arguments, z: read(z))


class NoScaling(Variant):
    """softmax(QKᵀ)V"""

    def __init__(self, config: ViTConfig, generator: torch.Generator | None = None):
        super().__init__(config, generator)
        for block in self.blocks:
            block.attention.scale = 1.0


class TanhGELU(Variant):
    """GELU(x) ≈ x/2 · (1 + tanh(√(2/π)(x + 0.044715 x³)))"""

    def __init__(self, config: ViTConfig, generator: torch.Generator | None = None):
        super().__init__(config, generator)
        for block in self.blocks:
            block.activation = nn.GELU(approximate="tanh")


class SmallerEpsilon(Variant):
    """(x − μ) / √(σ² + 10⁻¹²)"""

    def __init__(self, config: ViTConfig, generator: torch.Generator | None = None):
        super().__init__(config, generator)
        for module in self.modules():
            if isinstance(module, nn.LayerNorm):
                module.eps = 1e-12


class NoPositions(Variant):
    """Positions of zero."""

    def __init__(self, config: ViTConfig, generator: torch.Generator | None = None):
        super().__init__(config, generator)
        fix_positions(self, torch.zeros(config.tokens, config.width))


class SinePositions(Variant):
    """PE(t, 2i) = sin(t / 10000^(2i/D)), PE(t, 2i+1) = cos(the same): t counts the tokens, CLS is 0."""

    def __init__(self, config: ViTConfig, generator: torch.Generator | None = None):
        super().__init__(config, generator)
        t = torch.arange(config.tokens, dtype=torch.float64)[:, None]
        dimension = torch.arange(config.width)
        angles = t / 10_000 ** ((dimension - dimension % 2) / config.width)  # (T, D)
        fix_positions(self, torch.where(dimension % 2 == 0, angles.sin(), angles.cos()).float())


def fix_positions(model: VisionTransformer, positions: Tensor) -> None:
    """Nobody learns them: they lie among the weights and stay as they are."""
    with torch.no_grad():
        model.embedding.position_embeddings.requires_grad_(False).copy_(positions)


class Pixels01(Variant):
    """Reads pixels between 0 and 1, as a file has them: what normalising did is undone."""

    def forward(self, images: Tensor, probe: Probe | None = None) -> Tensor:
        scale = self.normalisation
        mean, deviation = (torch.tensor(values, device=images.device).view(-1, 1, 1)
                           for values in (scale.mean, scale.deviation))
        return super().forward(images * deviation + mean, probe)


class SmallCNN(nn.Module):
    """Three convolutions with GELU, halved between them, a mean over what is left of the image, a linear head.

    As wide as a transformer of this config has weights for; PyTorch's own initialisation.
    """

    def __init__(self, config: ViTConfig, generator: torch.Generator | None = None):
        super().__init__()
        self.config = config
        self.normalisation = config.normalisation
        w = config.cnn_width
        self.conv1 = nn.Conv2d(config.channels, w, 3, padding=1)
        self.conv2 = nn.Conv2d(w, 2 * w, 3, padding=1)
        self.conv3 = nn.Conv2d(2 * w, 4 * w, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.activation = nn.GELU()
        self.head = nn.Linear(4 * w, config.classes)

    def forward(self, images: Tensor, probe: Probe | None = None) -> Tensor:
        if probe is not None:
            raise ValueError(f"This model cannot be looked into: {NOT_OPENED}")
        x = self.pool(self.activation(self.conv1(images)))  # (B, w, H/2, W/2)
        x = self.pool(self.activation(self.conv2(x)))  # (B, 2w, H/4, W/4)
        x = self.activation(self.conv3(x))  # (B, 4w, H/4, W/4)
        return self.head(x.mean((2, 3)))  # (B, classes)


@dataclass(frozen=True)
class Described:
    """A variant, and what is different about it, in a sentence for whoever looks at it."""

    builder: type[VisionTransformer] | type[SmallCNN]
    difference: str


VARIANTS: dict[str, Described] = {
    "paper": Described(VisionTransformer, "This is the model of the paper."),
    "post-norm": Described(
        PostNorm, "LayerNorm comes after each sum, as in the first transformers, and not before attention and MLP: "
                  "what ln1 and ln2 show is the stream itself."),
    "mean-pooling": Described(
        MeanPooling, "The head reads the mean of all patches; CLS is there, but nobody looks at it or reads it."),
    "no-positions": Described(NoPositions, "No token is told where it is: all positions are 0."),
    "sine-positions": Described(
        SinePositions, "Positions are sines and cosines of the token's number, and are not learned."),
    "no-scaling": Described(NoScaling, "Scores are q·k, not divided by √d_k."),
    "causal": Described(
        Causal, "Each token looks only at itself and at those before it; CLS, the first, sees nothing but itself."),
    "causal-last": Described(
        CausalLast, "Each token looks only at itself and at those before it, and the head reads the last patch."),
    "no-residuals": Described(
        NoResiduals, "Attention and MLP replace the stream and are not added to it."),
    "tanh-gelu": Described(TanhGELU, "GELU is computed by its approximation with tanh."),
    "eps-1e-12": Described(
        SmallerEpsilon, "LayerNorm adds 10⁻¹² to the variance and not 10⁻⁶, as models from transformers do."),
    "pixels-0-1": Described(Pixels01, "Pixels go in as numbers from 0 to 1, not normalised."),
    "cnn": Described(SmallCNN, "This is no transformer, but a small CNN with about as many weights."),
}


def build(config: ViTConfig) -> VisionTransformer | SmallCNN:
    """The model that a config names, with fresh weights from torch's global generator."""
    return VARIANTS[config.variant].builder(config)


def transformer(config: ViTConfig) -> VisionTransformer:
    """The same, for those who look inside."""
    model = build(config)
    if isinstance(model, SmallCNN):
        raise ValueError(f"This model cannot be looked into: {NOT_OPENED}")
    return model
