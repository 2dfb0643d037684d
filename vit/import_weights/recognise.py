"""Whose weights are these, and of which shape is their model? Told by names and shapes, before any weight is read."""

import re
from dataclasses import dataclass
from math import inf, isqrt, nextafter

import torch

from vit.checkpoints import BadCheckpoint
from vit.config import ViTConfig
from vit.import_weights.names import MAKERS, Maker, to_theirs
from vit.variants import transformer

Shapes = dict[str, tuple[int, ...]]  # by the names of their makers

MOST_WEIGHTS = 700_000_000  # ViT-Huge has 632 million
HEADS = {192: 3, 384: 6, 768: 12, 1024: 16, 1280: 16}  # by width, in the paper and in DeiT
EPSILONS = {1e-6: "paper", 1e-12: "eps-1e-12"}
ACTIVATIONS = {"gelu": "paper", "gelu_new": "tanh-gelu", "gelu_pytorch_tanh": "tanh-gelu"}

# What a model of ours does not have, by the names of the weights that tell it. The first that fits is said.
NOT_OURS = (
    (r"dist_token|distillation_token|head_dist|distillation_classifier", "a distillation token beside CLS"),
    (r"reg_token|register_tokens?", "register tokens beside CLS"),
    (r"\.ls[12]\.|gamma_[12]|layer_?scale|lambda1", "layer scale, a learned factor on all that a block adds"),
    (r"q_norm|k_norm|query_norm|key_norm|norm_q\b|norm_k\b", "norms of queries and keys (qk-norm)"),
    (r"relative_position|rel_pos", "relative positions"),
    (r"rope|rotary", "rotary positions"),
    (r"pre_logits", "one more layer before the head (pre-logits)"),
    (r"norm_pre|pre_?layr?norm|patch_embed\.norm", "a norm before the first block"),
    (r"fc_norm", "a head that reads the mean of the patches and not CLS"),
    (r"attn_pool|attention_pool", "a head that pools by attention and does not read CLS"),
    (r"conv_bn_relu|patch_embed\.(backbone|conv|proj\.\d)|patch_embeddings\.backbone",
     "several convolutions where patches are cut"),
    (r"w12|mlp\.w[123]|fc1_[gx]|mlp\.gate", "a gated MLP (SwiGLU)"),
    (r"mlp\.norm|attn\.norm\.", "norms inside attention or the MLP"),
    (r"lora_[AB]", "changes kept beside the weights (LoRA), which have to be merged first"),
)
UNUSED = re.compile(r"(vit\.)?pooler\.dense\.(weight|bias)")  # by the classifier, which reads CLS itself


@dataclass(frozen=True)
class Told:
    """What shapes do not tell: of config.json, or of whoever asks for the import."""

    heads: int | None = None
    epsilon: float | None = None
    activation: str = "gelu"


NOTHING_TOLD = Told()


@dataclass(frozen=True)
class Recognised:
    maker: Maker
    config: ViTConfig


def recognise(shapes: Shapes, told: Told = NOTHING_TOLD) -> Recognised:
    """Raises BadCheckpoint, in a sentence, for all that is not a plain ViT with a class token and learned positions."""
    shapes = {name: shape for name, shape in shapes.items() if not UNUSED.fullmatch(name)}
    for pattern, what in NOT_OURS:
        if found := next((name for name in shapes if re.search(pattern, name)), None):
            raise BadCheckpoint(f"This model has {what} ({readable(found)}); a plain ViT, as it is shown here, has "
                                "none.")
    maker = next((maker for maker in MAKERS if f"{maker.outside['embedding.projection']}.weight" in shapes), None)
    if maker is None:
        some = ", ".join(map(readable, sorted(shapes)[:3])) or "none at all"
        raise BadCheckpoint("These names of weights are not those of a ViT by torchvision, timm or transformers: "
                            f"{some}.")
    try:
        config = config_of(maker, shapes, told)
    except ValueError as error:
        raise BadCheckpoint(str(error)) from error
    if config.parameters > MOST_WEIGHTS:
        raise BadCheckpoint(f"This model has {config.parameters:,} weights; {MOST_WEIGHTS:,} is the most that is read.")
    check(shapes, maker, config)
    return Recognised(maker, config)


def config_of(maker: Maker, shapes: Shapes, told: Told) -> ViTConfig:
    """The shape of the model; ValueError where there can be no such model."""
    width, channels, patch, across = of_rank(4, f"{maker.outside['embedding.projection']}.weight", shapes)
    if patch != across:
        raise ValueError(f"Its patches are {patch} x {across} pixels; here they are squares.")
    if maker.outside["embedding.cls_token"] not in shapes:
        raise ValueError("This model has no class token: its answer is read from the patches, and here from CLS.")
    if maker.outside["embedding.position_embeddings"] not in shapes:
        raise ValueError("This model has no learned positions, one for each token.")
    _, tokens, _ = of_rank(3, maker.outside["embedding.position_embeddings"], shapes)
    grid = isqrt(max(0, tokens - 1))
    if grid < 1 or grid * grid != tokens - 1:
        raise ValueError(f"Its {tokens} positions are not those of CLS and a square of patches.")
    if f"{maker.outside['head']}.weight" not in shapes:
        raise ValueError("This model has no head: it gives features and no answers.")
    classes, _ = of_rank(2, f"{maker.outside['head']}.weight", shapes)
    hidden, _ = of_rank(2, maker.their_name("blocks.0.expand.weight")[0], shapes)
    begins = re.compile(re.escape(maker.block).replace(r"\{\}", r"(\d{1,6})"))
    blocks = {match[1] for name in shapes if (match := begins.match(name))}
    return ViTConfig(
        image_size=grid * patch, patch_size=patch, channels=channels, classes=classes, width=width,
        depth=len(blocks), heads=heads_of(width, told), mlp_ratio=ratio(hidden, width), variant=variant_of(maker, told),
    )


def of_rank(rank: int, name: str, shapes: Shapes) -> tuple[int, ...]:
    if name not in shapes:
        raise ValueError(f"The weights miss {name}.")
    if len(shapes[name]) != rank:
        raise ValueError(f"{name} has {len(shapes[name])} axes, not {rank}.")
    return shapes[name]


def heads_of(width: int, told: Told) -> int:
    heads = told.heads or HEADS.get(width)
    if heads is None:
        raise ValueError(f"Weights do not tell how many heads share a width of {width:,}: say it with --heads, or put "
                         "config.json beside them.")
    return heads


def ratio(hidden: int, width: int) -> float:
    """The mlp_ratio from which a config gets the same number of hidden units back."""
    found = hidden / max(1, width)
    return found if int(width * found) == hidden else nextafter(found, inf)


def variant_of(maker: Maker, told: Told) -> str:
    usual = 1e-12 if maker.title == "transformers" else 1e-6
    epsilon = usual if told.epsilon is None else told.epsilon
    if epsilon not in EPSILONS:
        raise ValueError(f"Its norms add {epsilon:g} to the variance; here it can be 1e-06 or 1e-12.")
    if told.activation not in ACTIVATIONS:
        raise ValueError(f"Its MLPs use {told.activation}; here they use GELU.")
    variants = {EPSILONS[epsilon], ACTIVATIONS[told.activation]} - {"paper"}
    if len(variants) > 1:
        raise ValueError("It has both tanh-GELU and norms that add 1e-12; here a model can have one of the two.")
    return variants.pop() if variants else "paper"


def check(shapes: Shapes, maker: Maker, config: ViTConfig) -> None:
    """All weights that this model has with its maker, and no others."""
    with torch.device("meta"):
        model = transformer(config)
    expected = {name: tuple(value.shape) for name, value in to_theirs(maker, config, model.state_dict()).items()}
    missing, strange = sorted(expected.keys() - shapes.keys()), sorted(shapes.keys() - expected.keys())
    if strange:
        raise BadCheckpoint(f"{len(strange)} of the weights are not those of a plain ViT by {maker.title}, such as "
                            f"{readable(strange[0])}.")
    if missing:
        raise BadCheckpoint(f"{len(missing)} weights of a plain ViT by {maker.title} are missing, such as "
                            f"{missing[0]}.")
    for name, shape in expected.items():
        if shapes[name] != shape:
            raise BadCheckpoint(f"{name} is {str(shapes[name])[:60]}, and the rest asks for {shape}.")


def readable(name: str) -> str:
    """A name from a file, which may hold anything, for a sentence."""
    return repr(name)[1:-1][:60]
