"""A run for other programs."""

import csv
import io
import zipfile

import pytest

from tests.support.verdicts import training_line, verdict
from vit import reports, runs
from vit.config import TrainConfig, ViTConfig
from vit.runs import exports


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("PATCHWISE_RUNS", str(tmp_path))
    model = ViTConfig(patch_size=14, width=8, depth=1, heads=2)
    folder = runs.create(TrainConfig(model=model), pair_id="exported")
    lines = [training_line(10), verdict([0], step=10, mirrored_accuracy=0.4), training_line(20)]
    (folder / "metrics.jsonl").write_bytes(b"".join(map(reports.to_line, lines)))
    return runs.read_run(folder)


def test_metrics_as_csv_have_a_row_per_report_and_accuracy_per_digit(run):
    rows = list(csv.DictReader(io.StringIO(exports.as_csv(run))))
    assert [row["kind"] for row in rows] == ["train", "validation", "train"]
    assert [row["step"] for row in rows] == ["10", "10", "20"]
    assert rows[1]["accuracy_of_0"] == "0.99"
    assert rows[1]["accuracy_of_1"] == "1.0"
    assert rows[0]["accuracy_of_0"] == ""
    assert [row["mirrored_accuracy"] for row in rows] == ["", "0.4", ""]


def test_tensorboard_events_hold_the_scalars(run):
    from tensorboardX.proto.event_pb2 import Event

    archive = zipfile.ZipFile(io.BytesIO(exports.as_tensorboard(run)))
    (name,) = archive.namelist()
    assert name.startswith(f"{run.id}/events.out.tfevents")
    content, found = archive.read(name), {}
    while content:  # length, its checksum, the event, its checksum
        length = int.from_bytes(content[:8], "little")
        event = Event.FromString(content[12 : 12 + length])
        for value in event.summary.value:
            found[value.tag, event.step] = value.simple_value
        content = content[16 + length :]
    assert found["train/loss", 20] == 1.0
    assert found["validation/accuracy", 10] == pytest.approx(0.999)
