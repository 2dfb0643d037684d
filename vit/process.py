"""What tunes a process that trains."""

import contextlib
import ctypes
import os
from pathlib import Path


def step_back() -> None:
    """Let the server and whoever watches go first: they need little, but at once."""
    with contextlib.suppress(AttributeError, OSError):  # not every system knows these
        os.nice(10)
        Path("/proc/self/autogroup").write_text("10")  # where Linux shares its time among sessions


def keep_memory() -> None:
    """Have the C library keep what a step frees: the next step needs as much, and fresh pages cost their clearing."""
    MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # glibc's numbers for these
    with contextlib.suppress(AttributeError, OSError, TypeError):  # other libraries have no mallopt
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(MMAP_THRESHOLD, 2**25)  # its largest
        mallopt(TRIM_THRESHOLD, 2**31 - 1)
