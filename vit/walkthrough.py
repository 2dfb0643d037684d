"""A model from pixels to logits, step by step: shape, weights, multiplications and memory by closed form.

Multiplications are those of matrix products, all that a FLOP counter counts. Memory is that of the numbers that a step
leaves behind for one picture, 4 bytes each; pixels have 1.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod

from vit.config import NUMBER, PRESETS, ViTConfig


@dataclass(frozen=True)
class Step:
    name: str
    what: str  # it is, in a few words
    fields: tuple[str, ...]  # of the trace, all of the same shape
    letters: tuple[str, ...]  # of the shape, as the paper calls its sides
    shape: tuple[int, ...]
    weights: int = 0
    multiplications: int = 0
    formula: str = ""  # of the multiplications
    bytes_each: int = NUMBER

    @property
    def memory(self) -> int:
        return len(self.fields) * prod(self.shape) * self.bytes_each


@dataclass(frozen=True)
class Total:
    weights: int
    multiplications: int
    memory: int

    @classmethod
    def of(cls, steps: Iterable[Step], times: int = 1) -> "Total":
        listed = list(steps)
        return cls(*(times * sum(getattr(step, name) for step in listed)
                     for name in ("weights", "multiplications", "memory")))

    def __add__(self, other: "Total") -> "Total":
        return Total(self.weights + other.weights, self.multiplications + other.multiplications,
                     self.memory + other.memory)


@dataclass(frozen=True)
class WalkThrough:
    config: ViTConfig
    embedding: tuple[Step, ...]
    block: tuple[Step, ...]  # each of L
    head: tuple[Step, ...]

    @property
    def blocks(self) -> Total:
        return Total.of(self.block, self.config.depth)

    @property
    def total(self) -> Total:
        return Total.of(self.embedding) + self.blocks + Total.of(self.head)


def walk_through(config: ViTConfig) -> WalkThrough:
    return WalkThrough(config, embedding_steps(config), block_steps(config), head_steps(config))


def embedding_steps(config: ViTConfig) -> tuple[Step, ...]:
    H, C, N, T, D, V = (config.image_size, config.channels, config.patches, config.tokens, config.width,
                        config.patch_values)
    return (
        Step("picture", "pixels from 0 to 255", ("image",), ("H", "W", "C"), (H, H, C), bytes_each=1),
        Step("patches", "cut, laid out in rows, normalised", ("patches",), ("N", "P²C"), (N, V)),
        Step("patch embeddings", "each patch times E", ("patch_embeddings",), ("N", "D"), (N, D), V * D + D,
             N * V * D, "N·P²C·D"),
        Step("z₀", "CLS before them, positions added", ("tokens",), ("T", "D"), (T, D), D + T * D),
    )


def block_steps(config: ViTConfig) -> tuple[Step, ...]:
    T, D, h, d, M = config.tokens, config.width, config.heads, config.head_width, config.mlp_width
    stream, heads, pairs = (T, D), (h, T, d), (h, T, T)
    return (
        Step("LN", "each token to mean 0, deviation 1", ("ln1",), ("T", "D"), stream, 2 * D),
        Step("q, k, v", "three views of each token, in h heads", ("q", "k", "v"), ("h", "T", "d_k"), heads,
             3 * (D * D + D), 3 * T * D * D, "3·T·D²"),
        Step("scores", "each q times each k, over √d_k", ("scores",), ("h", "T", "T"), pairs, 0, T * T * D, "T²·D"),
        Step("pattern", "softmax: each row sums to 1", ("pattern",), ("h", "T", "T"), pairs),
        Step("heads", "values, weighted by the pattern", ("heads",), ("h", "T", "d_k"), heads, 0, T * T * D, "T²·D"),
        Step("attention", "all heads mixed by one matrix", ("attn_out",), ("T", "D"), stream, D * D + D, T * D * D,
             "T·D²"),
        Step("z′", "added to the stream", ("resid_mid",), ("T", "D"), stream),
        Step("LN", "the same again", ("ln2",), ("T", "D"), stream, 2 * D),
        Step("MLP, hidden", "more numbers, bent by GELU", ("mlp_hidden",), ("T", "M"), (T, M), D * M + M, T * D * M,
             "T·D·M"),
        Step("MLP", "back to the width of the stream", ("mlp_out",), ("T", "D"), stream, M * D + D, T * M * D,
             "T·M·D"),
        Step("z", "added to the stream", ("resid_post",), ("T", "D"), stream),
    )


def head_steps(config: ViTConfig) -> tuple[Step, ...]:
    D, K = config.width, config.classes
    return (
        Step("y", "CLS alone, through one more LN", ("cls_out",), ("D",), (D,), 2 * D),
        Step("logits", "y times the classifier", ("logits",), ("K",), (K,), D * K + K, D * K, "D·K"),
        Step("probabilities", "softmax", ("probabilities",), ("K",), (K,)),
    )


# Side by side


def named_models(own: ViTConfig) -> tuple[dict[str, ViTConfig], str]:
    """The chosen model among those that the texts speak of, and under which name it stands there."""
    named = {"the article's": PRESETS["article"], "tiny": PRESETS["tiny"], "CIFAR-10": PRESETS["cifar"],
             "ViT-Base": PRESETS["base"]}
    twin = next((name for name, config in named.items() if replace(own, variant="paper", dropout=0.0) == config), None)
    return (named, twin) if twin else ({"yours": own} | named, "yours")


@dataclass(frozen=True)
class Coincidence:
    """The numbers of a patch beside the numbers of a token."""

    name: str
    patch: int
    channels: int
    values: int
    width: int

    @property
    def same(self) -> bool:
        return self.values == self.width


def coincidences() -> list[Coincidence]:
    """Models of the texts and of the paper: in one of them the two numbers happen to be the same."""
    base = PRESETS["base"]
    models = {
        "the article's": PRESETS["article"], "CIFAR-10": PRESETS["cifar"],
        "DeiT-Tiny/16": replace(base, width=192, heads=3), "ViT-Base/16": base,
        "ViT-Base/32": replace(base, patch_size=32), "ViT-Large/16": replace(base, width=1024, depth=24, heads=16),
        "ViT-Huge/14": replace(base, patch_size=14, width=1280, depth=32, heads=16),
    }
    return [Coincidence(name, config.patch_size, config.channels, config.patch_values, config.width)
            for name, config in models.items()]
