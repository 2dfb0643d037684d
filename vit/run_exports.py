"""A run for other programs: its metrics as a table or as TensorBoard events."""

import csv
import io
import tempfile
import time
import zipfile
from pathlib import Path

from vit.runs import Run, feed

COLUMNS = ["kind", "step", "epoch", "seconds", "loss", "accuracy", "learning_rate", "images_per_second",
           "images", "train_loss", "train_accuracy"]


def as_csv(run: Run) -> str:
    reports = [report for report in feed(run.folder).read() if report["kind"] in ("train", "validation")]
    classes = range(run.config.model.classes)
    per_class = [f"accuracy_of_{number}" for number in classes]
    text = io.StringIO()
    table = csv.DictWriter(text, [*COLUMNS, *per_class], extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    for report in reports:
        if report["kind"] == "validation":
            rows = enumerate(report["confusion"])
            report = report | {per_class[i]: round(row[i] / max(1, sum(row)), 5) for i, row in rows}
        table.writerow(report)
    return text.getvalue()


def as_tensorboard(run: Run) -> bytes:
    """A zip with one folder that `tensorboard --logdir` opens."""
    from tensorboardX import SummaryWriter

    content = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        with SummaryWriter(str(Path(folder, run.id))) as writer:
            for report in feed(run.folder).read():
                when = run.created + report.get("seconds", 0)
                for name in ("loss", "accuracy", "learning_rate", "images_per_second"):
                    if name in report and report["kind"] in ("train", "validation"):
                        writer.add_scalar(f"{report['kind']}/{name}", report[name], report["step"], when)
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(Path(folder).rglob("*")):
                if path.is_file():
                    archive.writestr(zipfile.ZipInfo(str(path.relative_to(folder)), time.localtime()[:6]),
                                     path.read_bytes())
    return content.getvalue()
