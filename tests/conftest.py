import numpy as np
import pytest
import torch

from tests.support.models import SMALL, make_lively
from vit.runs import limits

torch.set_num_threads(1)  # small matrices gain nothing from more, and busy machines lose much

TAKES_LONG = ("tests/test_worker.py", "tests/browser/", "tests/pages/test_train.py", "tests/studies/test_running.py")


@pytest.fixture(scope="session")
def lively():
    return make_lively


def pytest_collection_modifyitems(items):
    """What takes long comes first: at the end no core should be left alone with it."""
    items.sort(key=lambda item: not item.nodeid.startswith(TAKES_LONG))


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
