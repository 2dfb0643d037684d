"""Weights from the network: torchvision's by a name such as vit_b_16, all others from the Hugging Face hub by
OWNER/NAME. Both clients show their progress and keep what they have fetched."""

from pathlib import Path
from typing import Any

from vit.checkpoints import BadCheckpoint
from vit.details import Preparation, class_names
from vit.import_weights.beside import Beside
from vit.import_weights.reading import Imported, as_ours, import_file
from vit.import_weights.recognise import recognise
from vit.torchvision_import import import_torchvision

WEIGHTS, BESIDE = "model.safetensors", ("config.json", "preprocessor_config.json")


def fetch(name: str) -> Imported:
    """Raises BadCheckpoint with a sentence that tells what to put where, if the network does not answer."""
    return from_hub(name) if "/" in name else from_torchvision(name)


def from_torchvision(name: str) -> Imported:
    models = import_torchvision().models
    known = [known for known in models.list_models() if known.startswith("vit_")]
    if name not in known:
        raise BadCheckpoint(f"torchvision has no {name[:60]!r}; it has {', '.join(known)}. On the hub, models are "
                            "called OWNER/NAME.")
    weights = models.get_model_weights(name).DEFAULT
    try:
        theirs = weights.get_state_dict(progress=True, check_hash=True, weights_only=True)
    except Exception as error:  # the network fails in many ways
        raise BadCheckpoint(
            f"torchvision could not fetch {name} ({type(error).__name__}). Fetch {weights.url} elsewhere, put it into "
            f"{_cache()}, and repeat this command."
        ) from error
    shapes = {name: tuple(value.shape) for name, value in theirs.items()}
    told = Beside(origin=f"torchvision · {name}.{weights.name}", preparation=_preparation(weights.transforms()),
                  classes=class_names(weights.meta["categories"]))
    return as_ours(recognise(shapes), dict(theirs), told)


def _preparation(transforms: Any) -> Preparation:
    return Preparation(transforms.resize_size[0], transforms.crop_size[0], tuple(transforms.mean),
                       tuple(transforms.std), transforms.interpolation.value)


def _cache() -> Path:
    import torch

    return Path(torch.hub.get_dir(), "checkpoints")


def from_hub(name: str) -> Imported:
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError, RepositoryNotFoundError
    except ImportError as error:
        raise BadCheckpoint("The hub's client is not installed: pip install huggingface_hub.") from error
    try:
        path = Path(hf_hub_download(name, WEIGHTS))
        for file in BESIDE:
            try:
                hf_hub_download(name, file)
            except EntryNotFoundError:
                continue  # not every model has both
    except RepositoryNotFoundError as error:
        raise BadCheckpoint(f"The hub has no {name[:100]!r}, or shows it to nobody who is not logged in.") from error
    except Exception as error:
        raise BadCheckpoint(
            f"{name[:100]} could not be fetched ({type(error).__name__}). Fetch {WEIGHTS}, {' and '.join(BESIDE)} from "
            f"https://huggingface.co/{name[:100]}/tree/main elsewhere, put them into one folder, and say "
            f"python -m vit.import_weights FOLDER/{WEIGHTS}."
        ) from error
    return import_file(path)
