import time
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from tests.support.train_page import CONFIG
from vit import checkpoints, runs
from vit.config import TRAINING_PRESETS
from vit.runs import processes, queue
from vit.ui import models

APP = Path(__file__).parents[2] / "vit" / "ui" / "script.py"
PATH = ("draw", "machine", "patches", "embedding", "attention", "layers", "logits")  # pages about one drawing


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """A folder of runs for each test, and no process that wakes up before it is needed."""
    monkeypatch.setenv("PATCHWISE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("PATCHWISE_READER", "0")
    monkeypatch.setattr(processes, "WARM_WORKERS", 0)
    yield tmp_path / "runs"
    for run in runs.list_runs():
        runs.stop(run.id)
    while runs.busy():
        time.sleep(0.05)
    queue.dispatcher().close()


@pytest.fixture
def shipped(lively, tmp_path, monkeypatch):
    """Puts a model of any shape in the place of the shipped one."""

    def ship(config, **details):
        model = lively(config)
        checkpoints.save(model, tmp_path / "explorer.safetensors", {"unsure_below": 0.5, **details})
        monkeypatch.setitem(checkpoints.SHIPPED, "explorer", tmp_path / "explorer.safetensors")
        st.cache_resource.clear()
        st.cache_data.clear()
        return model

    yield ship
    st.cache_resource.clear()
    models.forget()


@pytest.fixture
def small(monkeypatch, shipped):
    """Quick, but quicker."""
    shipped(CONFIG.model)
    monkeypatch.setitem(TRAINING_PRESETS, "quick", CONFIG)


@pytest.fixture
def open_app():
    """A visitor who opens the app on a page, with the parameters of a link."""

    def open_page(page="draw", **parameters):
        visitor = AppTest.from_file(APP, default_timeout=60)
        for name, value in parameters.items():
            visitor.query_params[name] = value
        visitor._page_hash = calc_hash(page if page != "draw" else "")  # as the browser asks for a page of a menu
        return visitor.run()

    return open_page


def turn_to(visitor: AppTest, page: str) -> AppTest:
    visitor.session_state.page = page
    return visitor.switch_page(f"../../pages/{page}.py").run()
