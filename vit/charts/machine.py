"""The whole machine as one picture: its values, packed for machine.js, which draws, unfolds and moves them."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vit import machine
from vit.charts import colours, patches
from vit.charts.picture import Picture
from vit.model import VisionTransformer
from vit.trace import ForwardTrace

MOST_CLASSES = 10  # that have a bar
BRIGHT = 0.98  # of the tokens' numbers lie within the colour scale; a few far larger ones would leave all others dark
OF_ONE_TOKEN = ("resid_pre", "ln1", "attn_out", "resid_mid", "ln2", "mlp_hidden", "mlp_out")
OF_EACH_HEAD = ("q", "k", "v", "heads", "scores")


@dataclass(frozen=True, eq=False)
class MachinePicture(Picture):
    """Facts as JSON, and arrays by name: float32 where a number is shown, int8 where it is only a colour."""

    facts: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]

    def packed(self, layer: int, head: int) -> bytes:
        """The length of the JSON, the JSON, the arrays; each begins at a multiple of four bytes. What is chosen is no
        part of the identity by which machine.js knows what it has drawn already."""
        places, blobs, offset = {}, [], 0
        for name, array in self.arrays.items():
            places[name] = [array.dtype.str[1:], offset, *array.shape]
            blobs.append(padded(np.ascontiguousarray(array).tobytes(), b"\0"))
            offset += len(blobs[-1])
        binary = b"".join(blobs)
        facts = {**self.facts, "arrays": places, "alt": self.alt}
        identity = zlib.crc32(binary, zlib.crc32(json.dumps(facts).encode()))
        text = json.dumps({**facts, "identity": identity, "layer": layer, "head": head})
        header = padded(text.encode(), b" ")
        return len(header).to_bytes(4, "little") + header + binary


def padded(data: bytes, by: bytes) -> bytes:
    return data + by * (-len(data) % 4)


def whole(trace: ForwardTrace, model: VisionTransformer, token: int, names: tuple[str, ...], thing: str
          ) -> MachinePicture:
    """All that one drawing becomes on its way through a model, as the chosen token meets it."""
    config = model.config
    classes = shown_classes(trace.probabilities)
    known = len(names) == config.classes
    said = machine.lens(trace, model)
    facts = {
        "image": config.image_size, "patch": config.patch_size, "channels": config.channels, "grid": config.grid,
        "tokens": config.tokens, "width": config.width, "depth": config.depth, "heads": config.heads,
        "headWidth": config.head_width, "hidden": config.mlp_width, "patchValues": config.patch_values,
        "token": token, "tokenName": patches.token_word(token), "thing": thing,
        "norm": machine.norm_place(config), "reads": machine.read_by_head(config), "noLens": machine.no_lens(config),
        "positions": machine.positions(config),
        "scaled": config.variant != "no-scaling", "tanh": config.variant == "tanh-gelu",
        "prediction": trace.prediction, "classes": classes.tolist(),
        "names": [names[i] if known else str(i) for i in classes],
        "soFar": [] if said is None else [names[i] if known else str(i) for i in said.argmax(-1)],
        "colours": {**colours.CSS, "ink": colours.INK, "warm": colours.WARM, "signed": colours.signed(dark=True)},
    }
    arrays = {
        **entrance(trace, model, token), **blocks(trace, model, token), **all_sums(trace, model, token),
        **answer(trace, model, classes, said),
    }
    return MachinePicture(
        facts, arrays,
        alt=f"The whole model: your {thing}, its {config.patches} patches, {config.tokens} tokens, "
            f"{counted(config.depth, 'block')} of {counted(config.heads, 'head')} and an MLP, and the answer "
            f"{names[trace.prediction] if known else trace.prediction}",
    )


def counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def shown_classes(probabilities: np.ndarray) -> np.ndarray:
    """All of ten; of more, the most probable ones."""
    return np.sort(np.argsort(-probabilities, kind="stable")[:MOST_CLASSES])


def entrance(trace: ForwardTrace, model: VisionTransformer, token: int) -> dict[str, np.ndarray]:
    """Image, patches and equation (1): the three terms for all tokens as colours of one scale, for one in full."""
    embedded = np.concatenate([trace.cls_token[None], trace.patch_embeddings])
    three = {"embedded": embedded, "positions": trace.position_embeddings, "tokens": trace.tokens}
    limit = float(np.quantile(np.abs(np.nan_to_num(np.stack(list(three.values())))), BRIGHT)) or 1.0
    image = trace.image if trace.image.ndim == 3 else trace.image[..., None]
    arrays = {"image": image}
    for name, values in three.items():
        arrays[name] = in_steps(values, limit)
        arrays[f"{name}Row"] = as_float(values[token])
    if token:
        patch = trace.patches[token - 1]
        arrays["patchRow"] = as_float(patch)
        arrays |= packed_sums("embedded", [machine.sums(
            patch, model.embedding.projection, machine.largest(trace.patch_embeddings[token - 1]))])
    return arrays


def blocks(trace: ForwardTrace, model: VisionTransformer, token: int) -> dict[str, np.ndarray]:
    made = {name: np.stack([getattr(block, name)[token] for block in trace.blocks]) for name in OF_ONE_TOKEN}
    made |= {name: np.stack([getattr(block, name)[:, token] for block in trace.blocks]) for name in OF_EACH_HEAD}
    looked = np.stack([machine.most_looked_at(block.pattern[:, token]) for block in trace.blocks])  # (L, h, 8)
    for name, values in (("keys", "k"), ("values", "v")):
        made[name] = np.stack([
            np.take_along_axis(getattr(block, values), at[..., None], 1)
            for block, at in zip(trace.blocks, looked, strict=True)
        ])  # (L, h, 8, d_k)
    for number, norms in enumerate(zip(*((block.norm1, block.norm2) for block in model.blocks), strict=True), start=1):
        made[f"gamma{number}"] = np.stack([norm.weight.detach().numpy() for norm in norms])
        made[f"beta{number}"] = np.stack([norm.bias.detach().numpy() for norm in norms])
    arrays = {name: as_float(values) for name, values in made.items()}
    return arrays | {"looked": looked.astype(np.uint16), "leaving": as_float(trace.blocks[-1].resid_post[token])}


def all_sums(trace: ForwardTrace, model: VisionTransformer, token: int) -> dict[str, np.ndarray]:
    of_blocks = [machine.block_sums(block, model, layer, token) for layer, block in enumerate(trace.blocks)]
    arrays: dict[str, np.ndarray] = {}
    for name in of_blocks[0]:
        arrays |= packed_sums(name, [made[name] for made in of_blocks])
    return arrays


def answer(trace: ForwardTrace, model: VisionTransformer, classes: np.ndarray, growing: np.ndarray | None
           ) -> dict[str, np.ndarray]:
    arrays = {
        "read": as_float(machine.read_at_the_end(trace, model.config)), "y": as_float(trace.cls_out),
        "gamma": as_float(model.norm.weight.detach().numpy()), "beta": as_float(model.norm.bias.detach().numpy()),
        "logits": as_float(trace.logits[classes]),
        "probabilities": as_float(trace.probabilities[classes]),
        **packed_sums("logits", [machine.class_sums(trace, model, classes)]),
    }
    if growing is not None:
        arrays |= {"lens": as_float(growing[:, classes]), "lensBest": growing.argmax(-1).astype(np.uint16),
                   "lensMost": as_float(growing.max(-1))}
    return arrays


def packed_sums(name: str, made: list[machine.Sums]) -> dict[str, np.ndarray]:
    """One row for each block, or a single row."""
    def together(field: str) -> np.ndarray:
        return np.stack([getattr(one, field) for one in made])

    return {
        f"{name}.place": together("place").astype(np.uint16), f"{name}.index": together("index").astype(np.uint16),
        f"{name}.weight": as_float(together("weight")), f"{name}.bias": as_float(together("bias")),
        f"{name}.total": as_float(together("total")),
    }


def as_float(values: np.ndarray | list[float]) -> np.ndarray:
    return np.asarray(values, np.float32)


def in_steps(values: np.ndarray, limit: float) -> np.ndarray:
    """As colours need them: 255 steps between −limit and limit."""
    return (np.nan_to_num(values) / limit * 127).clip(-127, 127).round().astype(np.int8)
