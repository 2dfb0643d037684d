from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from vit import checkpoints

APP = Path(__file__).parents[2] / "vit" / "ui" / "script.py"
PATH = ("draw", "patches", "embedding", "attention", "layers", "logits")


@pytest.fixture
def shipped(lively, tmp_path, monkeypatch):
    """Puts a model of any shape in the place of the shipped one."""

    def ship(config, **story):
        model = lively(config)
        checkpoints.save(model, tmp_path / "explorer.safetensors", {"unsure_below": 0.5, **story})
        monkeypatch.setitem(checkpoints.SHIPPED, "explorer", tmp_path / "explorer.safetensors")
        st.cache_resource.clear()
        st.cache_data.clear()
        return model

    yield ship
    st.cache_resource.clear()


@pytest.fixture
def open_app():
    """A visitor who opens the app on a page, with the parameters of a link."""

    def open_page(page="draw", **parameters):
        visitor = AppTest.from_file(APP, default_timeout=60)
        for name, value in parameters.items():
            visitor.query_params[name] = value
        visitor.run()
        return turn_to(visitor, page) if page != "draw" else visitor

    return open_page


def turn_to(visitor: AppTest, page: str) -> AppTest:
    visitor.session_state.page = page
    return visitor.switch_page(f"../../pages/{page}.py").run()
