"""The training page as a visitor without a browser meets it, and what runs leave for it."""

import json
import re

import numpy as np

from tests.support.verdicts import LABELS, verdict
from vit import reports, runs
from vit.config import TrainConfig, ViTConfig
from vit.runs import work

CONFIG = TrainConfig(
    model=ViTConfig(patch_size=7, width=16, depth=1, heads=2), train_images=640, epochs=2, batch_size=32,
    validate_every=10, validation_images=200, initialisation="pytorch", learning_rate=3e-3,
)


def finished_twins(config=CONFIG) -> str:
    pair = runs.create_twins(config, "quick")
    for run in runs.pair(pair):
        assert work.Worker(run.folder).work() == 0
    return pair


def twins_that_ended(config=CONFIG, state="done", epochs=1) -> str:
    """Folders as finished runs leave them, without the training."""
    pair = runs.create_twins(config, "quick")
    for run in runs.pair(pair):
        lines = [verdict([], step=0)] + [
            verdict(np.flatnonzero(LABELS != 0)[:100] if run.config.flips else [], step=20 * (epoch + 1), whole=True)
            for epoch in range(epochs)
        ]
        (run.folder / "metrics.jsonl").write_bytes(b"".join(map(reports.to_line, lines)))
        runs.write_status(run.folder, state)
    return pair


def words(visitor) -> str:
    kinds = ("title", "markdown", "caption", "warning", "info", "error", "subheader")
    written = "\n".join(element.value for kind in kinds for element in getattr(visitor, kind))
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", written)  # as Markdown shows it


def html(visitor) -> str:
    return "".join(element.proto.body for element in visitor.get("html"))


def choose_rows(visitor, *rows):
    """Tick rows of the table, which AppTest has no way to do."""
    states = visitor._tree.get_widget_states()
    states.widgets.add(id=visitor.dataframe[0].proto.id, string_value=json.dumps(
        {"selection": {"rows": rows, "columns": [], "cells": []}}))
    return visitor._run(states)
