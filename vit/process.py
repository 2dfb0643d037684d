"""What tunes a process that trains."""

import contextlib
import ctypes
import os
from pathlib import Path


def step_back() -> None:
    """Let the server and whoever watches go first: they need little, but at once."""
    asked_for = os.environ.get("PATCHWISE_NICE", "")
    nice = min(19, int(asked_for)) if asked_for.isdecimal() else 10
    with contextlib.suppress(AttributeError, OSError):  # not every system knows these
        os.nice(nice)
        Path("/proc/self/autogroup").write_text(str(nice))  # where Linux shares its time among sessions


def keep_memory() -> None:
    """Have the C library keep what a step frees: the next step needs as much, and fresh pages cost their clearing."""
    MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # glibc's numbers for these
    with contextlib.suppress(AttributeError, OSError, TypeError):  # other libraries have no mallopt
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(MMAP_THRESHOLD, 2**25)  # its largest
        mallopt(TRIM_THRESHOLD, 2**31 - 1)
