"""Waiting for what runs do, and what they have told."""

import time
from dataclasses import asdict

from vit import runs


def wait_for(condition, seconds=240.0):
    """Patient: whatever a test waits for comes, on a busy machine late."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def state_of(folder):
    return runs.read_status(folder).state


def steps_of(folder):
    return [report.step for report in runs.Feed(folder).read()]


def metrics_without_time(folder):
    timeless = [
        {key: value for key, value in asdict(report).items() if key not in ("seconds", "images_per_second")}
        for report in runs.Feed(folder).read()
    ]
    assert timeless
    return timeless
