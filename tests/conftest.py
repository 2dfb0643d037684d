import numpy as np
import pytest
import torch

from tests.support.models import SMALL, make_lively
from vit.runs import limits

torch.set_num_threads(1)  # small matrices gain nothing from more, and busy machines lose much


@pytest.fixture(scope="session")
def lively():
    return make_lively


@pytest.fixture
def small_model():
    return make_lively(SMALL)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder of runs for each test, whose workers do not step back: on a busy machine they would wait for ever."""
    monkeypatch.setenv("PATCHWISE_RUNS", str(tmp_path))
    monkeypatch.setenv("PATCHWISE_NICE", "0")
    monkeypatch.setattr(limits, "fair_threads", lambda: 1)
    return tmp_path


@pytest.fixture
def digit():
    return np.random.default_rng(0).integers(0, 256, (28, 28), dtype=np.uint8)
