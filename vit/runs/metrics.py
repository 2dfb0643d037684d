"""What a run has told so far: the reports in metrics.jsonl, read as they grow, and the batch that it showed last."""

import io
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock

import numpy as np

from vit.reports import Report, Validation, from_line


class Feed:
    """The reports of one run, read as they grow; a line that is still being written waits."""

    def __init__(self, folder: Path):
        self.path = folder / "metrics.jsonl"
        self._reports: list[Report] = []
        self._offset = 0
        self._inode = -1
        self._lock = Lock()

    def read(self) -> list[Report]:
        with self._lock:
            try:
                with self.path.open("rb") as file:
                    status = os.fstat(file.fileno())
                    rewritten = status.st_ino != self._inode or status.st_size < self._offset
                    if rewritten:  # by a resumed run
                        self._reports, self._offset, self._inode = [], 0, status.st_ino
                    file.seek(self._offset)
                    fresh = file.read()
            except OSError:
                return list(self._reports)
            whole = fresh[: fresh.rfind(b"\n") + 1]
            self._offset += len(whole)
            self._reports += [report for line in whole.splitlines() if (report := from_line(line))]
            return list(self._reports)


@lru_cache(maxsize=32)
def feed(folder: Path) -> Feed:
    return Feed(folder)


def last_verdict(folder: Path, tail: int = 65_536) -> Validation | None:
    """The last validation, without reading all that came before."""
    try:
        with (folder / "metrics.jsonl").open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - tail))
            lines = file.read().splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        if b'"validation"' in line:
            report = from_line(line)  # none, if the first or last of these lines is cut
            if isinstance(report, Validation):
                return report
    return None


@dataclass(frozen=True)
class ShownBatch:
    """Images that a run learned from, as it saw them: uint8 (n, H, W) or (n, H, W, 3)."""

    step: int
    images: np.ndarray
    mirrored: np.ndarray  # (n,)


def write_batch(folder: Path, batch: ShownBatch) -> None:
    content = io.BytesIO()
    np.savez(content, step=batch.step, images=batch.images, mirrored=batch.mirrored)
    fresh = folder / ".batch.npz"
    fresh.write_bytes(content.getvalue())
    os.replace(fresh, folder / "batch.npz")  # whole for whoever looks; if the machine fails, it is no loss


def read_batch(folder: Path) -> ShownBatch | None:
    """None if there is none yet, or what is there is no batch."""
    try:
        with np.load(folder / "batch.npz") as content:
            batch = ShownBatch(int(content["step"]), content["images"], content["mirrored"])
    except Exception:  # of a damaged file numpy and zip say so in exceptions of many kinds
        return None
    grey_or_colour = batch.images.ndim == 3 or (batch.images.ndim == 4 and batch.images.shape[-1] == 3)
    pictures = batch.images.dtype == np.uint8 and grey_or_colour and batch.images.size > 0
    marks = batch.mirrored.dtype == bool and batch.mirrored.shape == batch.images.shape[:1]
    return batch if pictures and marks else None
