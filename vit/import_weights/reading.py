"""A file of somebody else's weights to a model of ours. Names and shapes are judged before any weight is read."""

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from vit import checkpoints
from vit.checkpoints import BadCheckpoint
from vit.datasets import Normalisation
from vit.details import Details, Preparation
from vit.import_weights.beside import Beside, read_beside, usual_preparation
from vit.import_weights.names import to_ours
from vit.import_weights.recognise import Recognised, recognise
from vit.model import VisionTransformer
from vit.torchvision_import import import_torchvision
from vit.variants import transformer

IMAGENET_CLASSES = 1_000


@dataclass(frozen=True)
class Imported:
    model: VisionTransformer
    details: Details


def import_file(path: Path, heads: int | None = None, normalisation: Normalisation | None = None,
                classes: tuple[str, ...] = ()) -> Imported:
    """Raises BadCheckpoint in a sentence. What is told here counts more than what lies beside the file."""
    if not path.is_file():
        raise BadCheckpoint(f"There is no file {path.name}.")
    found = read_beside(path.parent)
    if heads:
        found = replace(found, told=replace(found.told, heads=heads))
    try:
        with safe_open(path, framework="pt") as file:
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
            recognised = recognise(shapes, found.told)
            tensors = {name: file.get_tensor(name) for name in shapes}
    except (SafetensorError, OSError) as error:
        raise BadCheckpoint(f"{path.name} is not a whole safetensors file ({str(error)[:120]}). Weights that are a "
                            "pickle (.pth, .bin) are never opened.") from error
    return as_ours(recognised, tensors, replace(found, classes=classes or found.classes), normalisation)


def as_ours(recognised: Recognised, theirs: dict[str, Tensor], found: Beside,
            normalisation: Normalisation | None = None) -> Imported:
    maker, config = recognised.maker, recognised.config
    for name, value in theirs.items():
        if not value.is_floating_point():
            raise BadCheckpoint(f"{name} holds {value.dtype}, not floating point.")
        if not value.isfinite().all():
            raise BadCheckpoint(f"{name} holds numbers that are not finite.")
    with torch.device("meta"):
        model = transformer(config)
    shapes = {name: value.shape for name, value in model.state_dict().items()}
    ours = to_ours(maker, shapes, theirs)
    model.load_state_dict({name: value.float() for name, value in ours.items()}, assign=True)
    prepared = preparation_of(recognised, found.preparation, normalisation)
    model.normalisation = prepared.normalisation
    classes = named(found.classes, config.classes)
    details = Details(origin=found.origin or maker.title, classes=classes, preparation=prepared)
    return Imported(model.eval().requires_grad_(False), details)


def preparation_of(recognised: Recognised, told: Preparation | None,
                   normalisation: Normalisation | None) -> Preparation:
    """For pictures of the size and the channels that the model reads."""
    config = recognised.config
    if told is None or len(told.mean) != config.channels:
        told = usual_preparation(recognised.maker.title, config.image_size, config.channels)
    if told.crop != config.image_size:
        told = replace(told, resize=told.resize * config.image_size // told.crop, crop=config.image_size)
    if normalisation is None:
        return told
    if len(normalisation.mean) != config.channels:
        raise BadCheckpoint(f"The model reads {config.channels} channels, and a mean was given for "
                            f"{len(normalisation.mean)}.")
    return replace(told, mean=normalisation.mean, deviation=normalisation.deviation, assumed=False)


def named(classes: tuple[str, ...], count: int) -> tuple[str, ...]:
    """Names for all classes. A thousand without names are ImageNet's: there is hardly another set of that size."""
    if len(classes) == count:
        return classes
    if classes:
        raise BadCheckpoint(f"There are names for {len(classes):,} classes, and the model has {count:,}.")
    if count == IMAGENET_CLASSES:
        import_torchvision()
        from torchvision.models._meta import _IMAGENET_CATEGORIES

        return tuple(_IMAGENET_CATEGORIES)
    return tuple(f"class {number}" for number in range(count))


def save(imported: Imported, path: Path) -> None:
    checkpoints.save(imported.model, path, imported.details.as_json())
    path.chmod(0o644)  # the server may be somebody else
