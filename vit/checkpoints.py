"""Models on disk: weights as safetensors, with the model's shape and its details as JSON in the file's header."""

import json
import os
import re
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from vit.config import ViTConfig
from vit.details import Details
from vit.files import whole_or_not
from vit.model import VisionTransformer
from vit.shipped import SHIPPED as SHIPPED
from vit.variants import NOT_OPENED, SmallCNN, build

DETAILS = "story"  # what files call it


class BadCheckpoint(ValueError):
    """Says in one sentence why a file cannot be loaded."""


def save(model: VisionTransformer | SmallCNN, path: Path, details: dict | None = None, half: bool = False) -> None:
    """Write weights, shape and details (anything JSON can hold, such as how it was trained) to one file."""
    weights = {name: value.half() if half else value for name, value in model.state_dict().items()}
    write_tensors(path, weights, {"config": asdict(model.config), DETAILS: details or {}})


def load(name_or_path: str | Path) -> VisionTransformer:
    """The transformer in a file, or a shipped one by its name, ready to predict and to be looked into."""
    model = load_any(name_or_path)
    if isinstance(model, SmallCNN):
        raise BadCheckpoint(f"{resolve(name_or_path).name} cannot be opened here: {NOT_OPENED}")
    return model


def load_any(name_or_path: str | Path) -> VisionTransformer | SmallCNN:
    """The model in a file, which may be the CNN that transformers are compared with."""
    path = resolve(name_or_path)
    weights, header = read_tensors(path)
    if "config" not in header:
        raise BadCheckpoint(f"{path.name} has no config that says which model its weights belong to.")
    try:
        config = ViTConfig(**header["config"])
    except (TypeError, ValueError) as error:
        raise BadCheckpoint(f"{path.name} does not describe a model of this project: {error}") from error
    held = sum(value.numel() for value in weights.values())
    if held != config.parameters:  # told before a model of any size that a file may claim is built
        raise BadCheckpoint(
            f"{path.name} holds {held:,} numbers, but the model that it describes has {config.parameters:,}."
        )
    with torch.device("meta"):
        model = build(config)
    check_fit(path.name, {name: value.shape for name, value in model.state_dict().items()}, weights)
    model.load_state_dict({name: value.float() for name, value in weights.items()}, assign=True)
    return model.eval().requires_grad_(False)


def details(name_or_path: str | Path) -> Details:
    """What the checkpoint tells of itself, without reading its weights."""
    return Details.of(read_header(resolve(name_or_path)).get(DETAILS))


def resolve(name_or_path: str | Path) -> Path:
    path = SHIPPED.get(str(name_or_path), Path(name_or_path))
    if not path.is_file():
        raise BadCheckpoint(f"There is no checkpoint {str(name_or_path)!r}; shipped: {', '.join(SHIPPED)}.")
    return path


def check_fit(file: str, expected: dict[str, torch.Size], weights: dict[str, Tensor]) -> None:
    """Refuse weights that are not exactly those of the model: names, shapes and finite numbers."""
    missing = sorted(expected.keys() - weights.keys())
    strange = sorted(weights.keys() - expected.keys())
    if missing or strange:
        raise BadCheckpoint(
            f"{file} does not fit its own config: {len(missing)} weights are missing {missing[:3]}, "
            f"{len(strange)} are unknown {strange[:3]}."
        )
    for name, shape in expected.items():
        value = weights[name]
        if value.shape != shape or not value.is_floating_point():
            raise BadCheckpoint(
                f"{name} in {file} is {value.dtype} {tuple(value.shape)}, not floating point {tuple(shape)}."
            )
        if not value.isfinite().all():
            raise BadCheckpoint(f"{name} in {file} holds numbers that are not finite.")


def write_tensors(path: Path, tensors: dict[str, Tensor], header: dict) -> None:
    metadata = {key: json.dumps(value) for key, value in header.items()}
    contiguous = {name: value.detach().contiguous() for name, value in tensors.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_or_not(path) as temporary:
        try:
            save_file(contiguous, temporary, metadata)  # straight from where they lie, without a copy of them all
        except SafetensorError as error:
            number = re.search(r"os error (\d+)", str(error))  # safetensors hides what the system said in its words
            raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) if number else error from error


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict]:
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, parse_header(file.metadata())  # noqa: SIM118
    except (SafetensorError, json.JSONDecodeError, OSError) as error:
        raise BadCheckpoint(f"{path.name} is not a whole safetensors file: {error}") from error


def read_header(path: Path) -> dict:
    try:
        with safe_open(path, framework="pt") as file:
            return parse_header(file.metadata())
    except (SafetensorError, json.JSONDecodeError, OSError) as error:
        raise BadCheckpoint(f"{path.name} is not a whole safetensors file: {error}") from error


def parse_header(metadata: dict[str, str] | None) -> dict:
    return {key: json.loads(value) for key, value in (metadata or {}).items()}


# Optimizers among the tensors of a file


def pack_optimizer(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """What an optimizer remembers of each parameter, as tensors named optimizer.NUMBER.WHAT."""
    state = optimizer.state_dict()["state"]
    return {f"optimizer.{number}.{name}": value for number, kept in state.items() for name, value in kept.items()}


def unpack_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Let an optimizer remember what pack_optimizer made of it; its learning rate stays. Other tensors are ignored."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, number, what = name.split(".")
            state.setdefault(int(number), {})[what] = value
    optimizer.load_state_dict(optimizer.state_dict() | {"state": state})


# The names of others


def to_torchvision(model: VisionTransformer) -> dict[str, Tensor]:
    """Our weights under the names and shapes of torchvision.models.VisionTransformer."""
    config, ours = model.config, model.state_dict()
    theirs = {
        "class_token": ours["embedding.cls_token"][None, None],
        "encoder.pos_embedding": ours["embedding.position_embeddings"][None],
        "conv_proj.weight": ours["embedding.projection.weight"].unflatten(
            1, (config.channels, config.patch_size, config.patch_size)
        ),
        "conv_proj.bias": ours["embedding.projection.bias"],
    }
    renamed = {"norm1": "ln_1", "norm2": "ln_2", "expand": "mlp.0", "contract": "mlp.3",
               "attention.out_proj": "self_attention.out_proj"}
    for kind in ("weight", "bias"):
        for number in range(config.depth):
            block, layer = f"blocks.{number}.", f"encoder.layers.encoder_layer_{number}."
            theirs[f"{layer}self_attention.in_proj_{kind}"] = torch.cat(
                [ours[f"{block}attention.W_{letter}.{kind}"] for letter in "qkv"]
            )
            for our_name, their_name in renamed.items():
                theirs[f"{layer}{their_name}.{kind}"] = ours[f"{block}{our_name}.{kind}"]
        theirs[f"encoder.ln.{kind}"] = ours[f"norm.{kind}"]
        theirs[f"heads.head.{kind}"] = ours[f"head.{kind}"]
    return theirs
