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

PROJECT = Path(__file__).parent.parent
MOST_OWN = 30  # models of a host that the sidebar has room for
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
    config = described(path, header)
    held = sum(value.numel() for value in weights.values())
    if held != config.parameters:  # told before a model of any size that a file may claim is built
        raise BadCheckpoint(
            f"{path.name} holds {held:,} numbers, but the model that it describes has {config.parameters:,}."
        )
    with torch.device("meta"):
        model = build(config)
    check_fit(path.name, {name: value.shape for name, value in model.state_dict().items()}, weights)
    model.load_state_dict({name: value.float() for name, value in weights.items()}, assign=True)
    told = Details.of(header.get(DETAILS))
    if told.preparation and len(told.preparation.mean) == config.channels:
        model.normalisation = told.preparation.normalisation
    return model.eval().requires_grad_(False)


def described(path: Path, header: dict) -> ViTConfig:
    if "config" not in header:
        raise BadCheckpoint(f"{path.name} has no config that says which model its weights belong to. Weights of "
                            "torchvision, timm or transformers become a model by python -m vit.import_weights.")
    try:
        return ViTConfig(**header["config"])
    except (TypeError, ValueError) as error:
        raise BadCheckpoint(f"{path.name} does not describe a model of this project: {error}") from error


def details(name_or_path: str | Path) -> Details:
    """What the checkpoint tells of itself, without reading its weights."""
    return Details.of(read_header(resolve(name_or_path)).get(DETAILS))


def config_of(name_or_path: str | Path) -> ViTConfig:
    """The shape of the model in a file, without reading its weights."""
    path = resolve(name_or_path)
    return described(path, read_header(path))


def models_folder() -> Path:
    """Where a host puts models that are neither shipped nor trained here."""
    return Path(os.environ.get("PATCHWISE_MODELS") or PROJECT / "models")


def own_models() -> dict[str, Path]:
    """The files in that folder by their names; whether they are models is not looked at yet."""
    files = models_folder().glob("*.safetensors")  # nothing, if there is no such folder
    return {path.stem: path for path in sorted(files)[:MOST_OWN] if not path.name.startswith(".")}


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
    except (SafetensorError, OSError) as error:
        raise BadCheckpoint(f"{path.name} is not a whole safetensors file: {error}.") from error


def read_header(path: Path) -> dict:
    try:
        with safe_open(path, framework="pt") as file:
            return parse_header(file.metadata())
    except (SafetensorError, OSError) as error:
        raise BadCheckpoint(f"{path.name} is not a whole safetensors file: {error}.") from error


def parse_header(metadata: dict[str, str] | None) -> dict:
    return {key: parse_value(value) for key, value in (metadata or {}).items()}


def parse_value(value: str) -> object:
    """Others write plain words into their headers: these stay as they are."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


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
