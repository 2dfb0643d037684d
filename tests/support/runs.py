"""Waiting for what runs do."""

import time


def wait_for(condition, seconds=240.0):
    """Patient: whatever a test waits for comes, on a busy machine late."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
