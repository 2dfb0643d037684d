import time

import pytest

from vit.config import TrainConfig, ViTConfig
from vit.runs import limits


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """A folder of runs for each test, whose workers do not step back: on a busy machine they would wait for ever."""
    monkeypatch.setenv("PATCHWISE_RUNS", str(tmp_path))
    monkeypatch.setenv("PATCHWISE_NICE", "0")
    monkeypatch.setattr(limits, "fair_threads", lambda: 1)
    return tmp_path


CONFIG = TrainConfig(model=ViTConfig(patch_size=14, width=8, depth=1, heads=2), train_images=200, epochs=2)


def wait_for(condition, seconds=240.0):
    """Patient: whatever a test waits for comes, on a busy machine late."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
