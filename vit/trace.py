"""All that one forward pass computed, as read-only NumPy: what the explorer lives on."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vit.config import ViTConfig
from vit.data import normalise
from vit.model import Probe, VisionTransformer


@dataclass(frozen=True, eq=False)
class BlockTrace:
    """What one block computed. T = N+1 tokens, D width, h heads, d_k head width, M MLP width."""

    resid_pre: np.ndarray  # (T, D) z as the block finds it
    ln1: np.ndarray  # (T, D)
    q: np.ndarray  # (h, T, d_k)
    k: np.ndarray  # (h, T, d_k)
    v: np.ndarray  # (h, T, d_k)
    scores: np.ndarray  # (h, T, T) q·k/√d_k, before softmax
    pattern: np.ndarray  # (h, T, T) after softmax: row = who looks, column = at whom
    heads: np.ndarray  # (h, T, d_k) pattern times v
    attn_out: np.ndarray  # (T, D) what attention adds to z
    resid_mid: np.ndarray  # (T, D)
    ln2: np.ndarray  # (T, D)
    mlp_hidden: np.ndarray  # (T, M) after GELU
    mlp_out: np.ndarray  # (T, D) what the MLP adds to z
    resid_post: np.ndarray  # (T, D) z as the block leaves it


@dataclass(frozen=True, eq=False)
class ForwardTrace:
    image: np.ndarray  # (H, W) or (H, W, C), uint8
    patches: np.ndarray  # (N, C·P·P) normalised
    patch_embeddings: np.ndarray  # (N, D)
    cls_token: np.ndarray  # (D,)
    position_embeddings: np.ndarray  # (T, D)
    tokens: np.ndarray  # (T, D) z_0
    blocks: tuple[BlockTrace, ...]
    cls_out: np.ndarray  # (D,) CLS after the last LayerNorm
    logits: np.ndarray  # (classes,)
    probabilities: np.ndarray  # (classes,)
    prediction: int


PARAMETERS = {"cls_token", "position_embeddings"}  # the same for every image, so without a batch axis


def trace_image(model: VisionTransformer, image: np.ndarray, *interventions: Probe) -> ForwardTrace:
    """Run one uint8 image through the model, changed by the interventions, and keep every step."""
    image = np.array(image)
    if image.dtype != np.uint8:
        raise ValueError(f"An image holds whole numbers from 0 to 255, as uint8, not {image.dtype}.")
    seen: list[dict[str, np.ndarray]] = [{} for _ in range(model.config.depth)]
    outside: dict[str, np.ndarray] = {}

    def record(name: str, block: int | None, value: Tensor) -> Tensor:
        for intervene in interventions:
            value = intervene(name, block, value)
        kept = value.detach().numpy().copy() if name in PARAMETERS else value.numpy()[0]
        (outside if block is None else seen[block])[name] = frozen(kept)
        return value

    with torch.inference_mode():
        logits = model(normalise(image[None], model.normalisation), record)
        outside["probabilities"] = frozen(logits[0].softmax(dim=-1).numpy())
    return ForwardTrace(
        image=frozen(image),
        blocks=tuple(BlockTrace(**values) for values in seen),
        prediction=int(outside["logits"].argmax()),
        **outside,
    )


def probabilities_of(model: VisionTransformer, image: np.ndarray) -> np.ndarray:
    """The answer alone, to a uint8 image that nobody looks into."""
    with torch.inference_mode():
        return frozen(model(normalise(image[None], model.normalisation))[0].softmax(dim=-1).numpy())


def frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


NUMBER = 4  # bytes of a float32


def trace_bytes(config: ViTConfig) -> int:
    """How much memory a trace takes, by closed form."""
    T, D = config.tokens, config.width
    block = 11 * T * D + 2 * config.heads * T * T + T * config.mlp_width
    outside = config.patches * (config.patch_values + D) + 2 * T * D + 2 * D + 2 * config.classes
    return NUMBER * (config.depth * block + outside) + config.image_size**2 * config.channels


@dataclass(frozen=True, eq=False)
class Look:
    """Where CLS looks in the last block, as the mean over the heads, and what the model answers."""

    pattern: np.ndarray  # (T,)
    prediction: int


def last_look(model: VisionTransformer, image: np.ndarray) -> Look:
    """Far less memory than a trace of a large model takes: of all that passes, one row is kept."""
    rows = []

    def keep(name: str, block: int | None, value: Tensor) -> Tensor:
        if name == "pattern" and block == model.config.depth - 1:
            rows.append(value[0, :, 0].mean(0).numpy())
        return value

    with torch.inference_mode():
        logits = model(normalise(image[None], model.normalisation), keep)
    return Look(rows[0], int(logits[0].argmax()))
