"""Data sets, their splits, and what training does with them: batches, flips, normalisation.

MNIST comes with the project; torchvision downloads the others when they are first asked for. torch and
torchvision are imported inside the functions that need them: a page can show digits before torch has loaded.
"""

import gzip
import hashlib
import os
import socket
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from vit.datasets import DATASETS, NORMALISATION, VALIDATION_IMAGES, Normalisation
from vit.torchvision_import import import_torchvision

if TYPE_CHECKING:
    import torch

PROJECT = Path(__file__).parent.parent
BUNDLED_MNIST = PROJECT / "assets" / "mnist"

SPLITS = ("train", "validation", "test")

VALIDATION_SEED = 0

SECONDS_WITHOUT_ANSWER = 15
Split = tuple[np.ndarray, np.ndarray]  # images and labels
Progress = Callable[[int, int | None], None]  # bytes received and expected of the file under way

_one_at_a_time = Lock()  # downloads change settings of the whole process


class DataUnavailable(Exception):
    """A data set cannot be had at the moment; the message is a sentence for the user."""


# Data sets and splits


def load(name: str, split: str) -> Split:
    """Images, uint8 (n, H, W) or (n, H, W, C), and labels, int64 (n,), of one split; both read-only."""
    _check_name(name)
    if split not in SPLITS:
        raise ValueError(f"There is no split {split!r}; there are {', '.join(SPLITS)}.")
    return _splits_of(name, "test" if split == "test" else "train")[split]


@lru_cache(maxsize=4)
def _splits_of(name: str, part: str) -> dict[str, Split]:
    images, labels = _read_bundled(part) if name == "mnist" else _read_downloaded(name, part)
    if part == "test":
        splits = {"test": (images, labels)}
    else:
        validation = subset(labels, VALIDATION_IMAGES, VALIDATION_SEED)
        splits = {
            "train": (np.delete(images, validation, axis=0), np.delete(labels, validation)),
            "validation": (images[validation], labels[validation]),
        }
    for arrays in splits.values():
        for array in arrays:
            array.flags.writeable = False
    return splits


def subset(labels: np.ndarray, size: int, seed: int) -> np.ndarray:
    """Indices of `size` examples, drawn by the seed, in which every class keeps its share."""
    if not 1 <= size <= len(labels):
        raise ValueError(f"A subset of {len(labels)} examples has between 1 and {len(labels)}, not {size}.")
    # The raw stream is what NumPy promises never to change from version to version.
    draws = np.random.PCG64(seed).random_raw(len(labels))
    shuffled_within_classes = np.lexsort((draws, labels))
    evenly_spaced = np.arange(size) * len(labels) // size
    return np.sort(shuffled_within_classes[evenly_spaced])


def load_validation(name: str, glance: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Validation images, their labels, and which of them, so many, are looked at between epochs."""
    images, labels = load(name, "validation")
    return images, labels, subset(labels, min(glance, len(labels)), seed=0)


def typical(images: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """One image of each class, the nearest to the mean of its class."""
    chosen = []
    for label in np.unique(labels):
        of_class = np.flatnonzero(labels == label)
        distances = images[of_class] - images[of_class].mean(0, dtype=np.float32)
        chosen.append(of_class[np.square(distances).reshape(len(of_class), -1).sum(1).argmin()])
    return images[chosen]


def _check_name(name: str) -> None:
    if name not in DATASETS:
        raise ValueError(f"There is no data set {name!r}; there are {', '.join(DATASETS)}.")


# The bundled data set


def _read_bundled(part: str) -> Split:
    prefix = "t10k" if part == "test" else "train"
    try:
        images = _read_idx(BUNDLED_MNIST / f"{prefix}-images-idx3-ubyte.gz")
        labels = _read_idx(BUNDLED_MNIST / f"{prefix}-labels-idx1-ubyte.gz")
    except (OSError, EOFError, zlib.error, ValueError, IndexError) as error:
        raise DataUnavailable(
            "The files in assets/mnist are missing or damaged; assets/README.md says how to make them again."
        ) from error
    return images, labels.astype(np.int64)


def _read_idx(path: Path) -> np.ndarray:
    """MNIST's own format: two zeros, the type, the number of dimensions, their sizes, then the values."""
    content = gzip.decompress(path.read_bytes())
    dimensions = content[3]
    shape = np.frombuffer(content, ">u4", count=dimensions, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


# Data sets from the network


def needs_download(name: str) -> bool:
    _check_name(name)
    return name != "mnist" and not _folder(name).exists()


def download(name: str, progress: Progress | None = None) -> Path:
    """Let torchvision download a data set, unless that was done before; returns the folder.

    `progress` is called as data comes in, with the bytes received and expected of the file under way.
    """
    _check_name(name)
    folder = _folder(name)
    try:
        with _one_at_a_time:
            if not folder.exists():
                _download_into(folder, _torchvision_dataset(name), progress)
    except Exception as error:
        raise DataUnavailable(
            f"{DATASETS[name].title} could not be downloaded: check the internet connection and the space on the "
            "disk and try again, or go on with the MNIST that is built in."
        ) from error
    return folder


def _download_into(folder: Path, dataset: Any, progress: Progress | None) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Only what is complete gets its final name: a download that broke off is never mistaken for data.
    with tempfile.TemporaryDirectory(prefix=f"{folder.name}-", dir=folder.parent) as unfinished:
        files = Path(unfinished, "files")
        with _limited_waiting(), _reporting(progress):
            dataset(files, download=True)
        try:
            files.rename(folder)
        except OSError:
            if not folder.exists():  # it does if another process has downloaded the same meanwhile
                raise


def _read_downloaded(name: str, part: str) -> Split:
    folder, title = download(name), DATASETS[name].title
    dataset = _torchvision_dataset(name)
    try:
        content = dataset(folder, train=part == "train")
        return np.ascontiguousarray(content.data), np.asarray(content.targets, np.int64)
    except Exception as error:
        if _is_damaged(dataset, folder):
            raise DataUnavailable(f"The files of {title} were damaged and {_set_aside(folder)}.") from error
        reason = "the memory is full" if isinstance(error, MemoryError) else "something went wrong while reading"
        raise DataUnavailable(
            f"{title} could not be loaded because {reason}; its files are left as they are, so try again later."
        ) from error


def _is_damaged(dataset: Any, folder: Path) -> bool:
    """Whether a file is missing, or is not the one that torchvision's checksums promise.

    What cannot be read now, or has no checksum, proves nothing.
    """
    try:
        if hasattr(dataset, "resources"):
            raw = folder / dataset.__name__ / "raw"
            return any(_differs_from_its_archive(raw / archive, md5) for archive, md5 in dataset.resources)
        batches = folder / dataset.base_folder
        return any(_differs_from_its_sum(batches / file, md5) for file, md5 in dataset.train_list + dataset.test_list)
    except FileNotFoundError:
        return True
    except Exception:
        return False


def _differs_from_its_sum(file: Path, md5: str) -> bool:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "md5").hexdigest() != md5


def _differs_from_its_archive(archive: Path, md5: str) -> bool:
    """MNIST's kin have checksums of the archives, which lie beside what was unpacked from them."""
    with archive.with_suffix("").open("rb") as unpacked:
        if not archive.exists() or _differs_from_its_sum(archive, md5):
            return False
        with gzip.open(archive) as original:
            return hashlib.file_digest(original, "md5").digest() != hashlib.file_digest(unpacked, "md5").digest()


def _set_aside(folder: Path) -> str:
    """Renames a folder; tells what became of it."""
    aside = folder.with_name(f"{folder.name}.damaged-{datetime.now():%Y%m%d-%H%M%S}")
    try:
        folder.rename(aside)
    except FileNotFoundError:  # another process has done it meanwhile
        return "are set aside now: try again to download them"
    except OSError:
        return f"could not be set aside: please remove the folder {folder.name} and try again"
    return f"are set aside now as {aside.name}: try again to download them"


def _folder(name: str) -> Path:
    return Path(os.environ.get("PATCHWISE_DATA") or PROJECT / "downloads") / name


def _torchvision_dataset(name: str) -> Any:
    return getattr(import_torchvision().datasets, DATASETS[name].title.replace("-", ""))


@contextmanager
def _limited_waiting() -> Iterator[None]:
    """torchvision would wait for ever for a server that does not answer."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SECONDS_WITHOUT_ANSWER)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


@contextmanager
def _reporting(progress: Progress | None) -> Iterator[None]:
    """torchvision reports to a progress bar in the terminal and offers no other way: listen to that bar."""
    utils = import_torchvision().datasets.utils
    terminal_bar = utils.tqdm

    def bar_that_reports(*arguments: Any, **options: Any) -> Any:
        bar = terminal_bar(*arguments, **options)
        show = bar.update

        def update(received: int) -> None:
            show(received)
            if progress:
                progress(bar.n, bar.total)

        bar.update = update
        return bar

    utils.tqdm = bar_that_reports
    try:
        yield
    finally:
        utils.tqdm = terminal_bar


# What training and the model do with images


def normalise(images: np.ndarray, by: Normalisation | None = None) -> "torch.Tensor":
    """uint8 (B, H, W) or (B, H, W, C) to what a model wants: float32 (B, C, H, W), mean 0, deviation 1.

    `by` is the model's own normalisation; without it, the one of all models that were trained here.
    """
    import torch

    if images.ndim == 3:
        images = images[..., None]
    channels = images.shape[-1]
    if channels not in NORMALISATION:
        raise ValueError(f"Images have 1 channel (grey) or 3 (colour), not {channels}.")
    scale = by or NORMALISATION[channels]
    mean, deviation = np.array([scale.mean, scale.deviation], np.float32)
    normalised = (images / np.float32(255) - mean) / deviation
    return torch.from_numpy(np.ascontiguousarray(normalised.transpose(0, 3, 1, 2)))


def as_pictures(normalised: "torch.Tensor") -> np.ndarray:
    """Back from what a model wants: float (B, C, H, W) to uint8 (B, H, W), or (B, H, W, 3) for coloured ones."""
    images = normalised.detach().cpu().numpy().transpose(0, 2, 3, 1)
    scale = NORMALISATION[images.shape[-1]]
    mean, deviation = np.array([scale.mean, scale.deviation], np.float32)
    pixels = (images * deviation + mean) * 255
    pictures = pixels.round().clip(0, 255).astype(np.uint8)
    return pictures[..., 0] if pictures.shape[-1] == 1 else pictures


def batch_indices(n: int, batch_size: int, generator: "torch.Generator") -> "tuple[torch.Tensor, ...]":
    """One epoch: every index once, in an order that the generator draws; the last batch may be smaller."""
    import torch

    return torch.randperm(n, generator=generator).split(batch_size)


def draw_flips(n: int, generator: "torch.Generator") -> "torch.Tensor":
    """For each of n images, heads or tails: would it be mirrored?

    A run draws whether or not it flips, so that twins that differ only in flipping share all later draws.
    """
    import torch

    return torch.rand(n, generator=generator) < 0.5


def flip(images: "torch.Tensor", mirrored: "torch.Tensor") -> "torch.Tensor":
    """Each image (B, C, H, W) as it is, or as its mirror image where `mirrored` (B,) says so."""
    return images.flip(-1).where(mirrored.view(-1, 1, 1, 1), images)


def shift_and_turn(images: "torch.Tensor", generator: "torch.Generator", pixels: float = 2.0,
                   degrees: float = 10.0) -> "torch.Tensor":
    """Each image (B, C, H, W) moved by up to so many pixels and turned by up to so many degrees, as drawn.

    What comes in at the rim repeats the rim.
    """
    import torch
    import torch.nn.functional as F

    turn, right, down = (2 * torch.rand(3, len(images), generator=generator) - 1)
    angle = turn * (torch.pi * degrees / 180)
    moves = torch.zeros(len(images), 2, 3)
    moves[:, 0, 0] = moves[:, 1, 1] = angle.cos()
    moves[:, 0, 1], moves[:, 1, 0] = -angle.sin(), angle.sin()
    moves[:, :, 2] = torch.stack([right, down], 1) * (2 * pixels / images.shape[-1])  # the image is 2 wide here
    grid = F.affine_grid(moves, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, padding_mode="border", align_corners=False)
