"""A run for other programs: its metrics as a table or as TensorBoard events."""

import csv
import io
import tempfile
import time
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vit.reports import StepReport, Validation
from vit.runs import Run, feed

COLUMNS = ["kind", "step", "epoch", "seconds", "loss", "accuracy", "learning_rate", "images_per_second",
           "images", "train_loss", "train_accuracy", "mirrored_accuracy"]
SCALARS = ("loss", "accuracy", "learning_rate", "images_per_second", "mirrored_accuracy")


def measured(run: Run) -> list[StepReport | Validation]:
    return [report for report in feed(run.folder).read() if isinstance(report, StepReport | Validation)]


def as_csv(run: Run) -> str:
    columns = [f"accuracy_of_{number}" for number in range(run.config.model.classes)]
    text = io.StringIO()
    table = csv.DictWriter(text, [*COLUMNS, *columns], extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    for report in measured(run):
        row: dict[str, Any] = {"kind": report.kind, **asdict(report)}
        if isinstance(report, Validation):
            row |= {f"accuracy_of_{i}": round(counts[i] / max(1, sum(counts)), 5)
                    for i, counts in enumerate(report.confusion)}
        table.writerow(row)
    return text.getvalue()


def as_tensorboard(run: Run) -> bytes:
    """A zip with one folder that `tensorboard --logdir` opens."""
    from tensorboardX import SummaryWriter

    content = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        with SummaryWriter(str(Path(folder, run.id))) as writer:
            for report in measured(run):
                for name in SCALARS:
                    value = getattr(report, name, None)
                    if value is not None:
                        writer.add_scalar(f"{report.kind}/{name}", value, report.step, run.created + report.seconds)
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(Path(folder).rglob("*")):
                if path.is_file():
                    archive.writestr(zipfile.ZipInfo(str(path.relative_to(folder)), time.localtime()[:6]),
                                     path.read_bytes())
    return content.getvalue()
