"""Contestants timed in turns, so that whatever else the machine does falls on all of them alike."""

import argparse
import os
import sys
import time
from collections.abc import Callable
from statistics import median

import torch

KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(2**30),
    "MALLOC_TRIM_THRESHOLD_": str(2**33),
    "MALLOC_TOP_PAD_": str(2**28),
}


def parse(description: str, rounds: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=rounds, help="turns of each contestant")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    parser.add_argument(
        "--keep-memory", action="store_true",
        help="let glibc keep freed memory for all contestants, instead of asking for it again at every step",
    )
    arguments = parser.parse_args()
    if arguments.keep_memory and not KEEP_MEMORY.items() <= os.environ.items():
        # glibc reads these only when a process starts.
        os.execve(sys.executable, sys.orig_argv, os.environ | KEEP_MEMORY)
    torch.set_num_threads(arguments.threads)
    print(f"torch {torch.__version__}, {arguments.threads} threads, {arguments.rounds} rounds, "
          f"freed memory {'kept' if arguments.keep_memory else 'as glibc has it'}\n")
    return arguments


def take_turns(contestants: dict[str, Callable[[], object]], rounds: int, warm_up: int = 3) -> dict:
    """The median time of a call of each, in seconds."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(warm_up + rounds):
        for name, call in contestants.items():
            start = time.perf_counter()
            call()
            if turn >= warm_up:
                times[name].append(time.perf_counter() - start)
    return {name: median(values) for name, values in times.items()}
