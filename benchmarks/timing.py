"""Contestants timed in turns, so that whatever else the machine does falls on all of them alike."""

import argparse
import contextlib
import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from statistics import median

import torch

from vit.process import keep_memory


def parse(description: str, rounds: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=rounds, help="turns of each contestant")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"torch {torch.__version__}, {arguments.threads} threads, {arguments.rounds} rounds\n")
    return arguments


def take_turns(
    contestants: dict[str, Callable[[], object]], rounds: int, warm_up: int = 3, rest: float = 0.0
) -> dict[str, float]:
    """The median time of a call of each, in seconds."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(warm_up + rounds):
        for name, call in contestants.items():
            time.sleep(rest)
            start = time.perf_counter()
            call()
            if turn >= warm_up:
                times[name].append(time.perf_counter() - start)
    return {name: median(values) for name, values in times.items()}


class Elsewhere:
    """A call that is made in a process of its own, whose memory is either kept between calls or left to the system."""

    def __init__(self, build: Callable[[], Callable[[], object]], memory_kept: bool):
        self._pipe, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        context.Process(target=_obey, args=(theirs, build, torch.get_num_threads(), memory_kept), daemon=True).start()

    def __call__(self) -> None:
        self._pipe.send("go")
        self._pipe.recv()


def _obey(pipe: Connection, build: Callable[[], Callable[[], object]], threads: int, memory_kept: bool) -> None:
    torch.set_num_threads(threads)
    if memory_kept:
        keep_memory()
    call = build()
    with contextlib.suppress(EOFError):  # the race is over
        while pipe.recv():
            call()
            pipe.send("done")
