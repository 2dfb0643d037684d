"""A process of its own that reads drawings: a picture goes in, probabilities come out.

A reading is some hundred small steps of torch, and in a server with many visitors each of them waits for the
interpreter's lock. Here a visitor waits once, for the answer. `python -m vit.reader` listens on its standard input and
answers on its standard output: a line of JSON for all questions at once, then the bytes of their arrays.
"""

import contextlib
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import IO, Any, NamedTuple

import numpy as np

PROJECT = Path(__file__).parent.parent


class CannotRead(Exception):
    """The process has ended, or could not read this: read without it."""


class Question(NamedTuple):
    weights: Path
    version: str
    image: np.ndarray
    answer: "Future[np.ndarray]"


class Reader:
    """The side of those who ask. Many threads may: what they ask while an answer is on its way is asked at once."""

    def __init__(self, rest: float = 60.0) -> None:
        self.rest = rest  # seconds between two starts: one that cannot live is not to be born again and again
        self._started_at = -math.inf
        self._process: subprocess.Popen[bytes] | None = None
        self._awake = Event()
        self._lock = Lock()
        self._asked: SimpleQueue[Question] = SimpleQueue()
        Thread(target=self._keep_asking, name="reader", daemon=True).start()

    def start(self) -> None:
        """Unless it is there; it takes seconds until it is awake."""
        with self._lock:
            there = self._process is not None and self._process.poll() is None
            if there or time.monotonic() - self._started_at < self.rest:
                return
            self._end()
            self._started_at = time.monotonic()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "vit.reader"], cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )
            self._awake = Event()
            Thread(target=_tell_when_awake, args=(self._process, self._awake), daemon=True).start()

    def probabilities(self, weights: Path, version: str, image: np.ndarray) -> np.ndarray:
        """What the model in a file answers to one picture. The version tells the file from others of the same name."""
        if not self._awake.is_set():
            raise CannotRead("The process that reads drawings is not awake.")
        question = Question(weights, version, image.astype(np.uint8, copy=False), Future())
        self._asked.put(question)
        return question.answer.result()

    def _keep_asking(self) -> None:
        while True:
            waiting = [self._asked.get()]
            while not self._asked.empty():
                waiting.append(self._asked.get())
            with self._lock:
                try:
                    self._ask(waiting)
                except (OSError, ValueError) as error:
                    self._end()
                    for question in waiting:
                        question.answer.set_exception(CannotRead(f"The process that reads drawings has ended. {error}"))

    def _ask(self, questions: list[Question]) -> None:
        ears, mouth = _pipes(self._process)
        words = [{"weights": str(question.weights), "version": question.version, "shape": question.image.shape}
                 for question in questions]
        send(ears, words, b"".join(question.image.tobytes() for question in questions))
        told = receive(mouth)
        answers = [word if isinstance(word, str) else np.frombuffer(read_exactly(mouth, word), np.float32)
                   for word in told]
        for question, answer in zip(questions, answers, strict=True):
            if isinstance(answer, str):
                question.answer.set_exception(CannotRead(answer))
            else:
                question.answer.set_result(answer)

    def close(self) -> None:
        with self._lock:
            self._end()

    def _end(self) -> None:
        self._awake.clear()
        if self._process:
            self._process.kill()
            self._process.wait()
            for pipe in _pipes(self._process):
                with contextlib.suppress(OSError):  # what was on its way is lost
                    pipe.close()
        self._process = None


def _pipes(process: subprocess.Popen[bytes] | None) -> tuple[IO[bytes], IO[bytes]]:
    if process is None or process.stdin is None or process.stdout is None:
        raise OSError("It is not there.")
    return process.stdin, process.stdout


def _tell_when_awake(process: subprocess.Popen[bytes], awake: Event) -> None:
    with contextlib.suppress(OSError, ValueError):  # it ended before
        receive(_pipes(process)[1])
        awake.set()


def send(pipe: IO[bytes], words: Sequence[Any], content: bytes = b"") -> None:
    pipe.write(json.dumps(words).encode() + b"\n" + content)
    pipe.flush()


def receive(pipe: IO[bytes]) -> list[Any]:
    return json.loads(pipe.readline())


def read_exactly(pipe: IO[bytes], count: int) -> bytes:
    content = pipe.read(count)
    if len(content) < count:
        raise OSError("It fell silent.")
    return content


def main() -> None:
    """Answer until nobody asks any more."""
    ears, mouth = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer

    import torch

    from vit import checkpoints
    from vit.caches import SizedCache
    from vit.environment import whole_number
    from vit.model import VisionTransformer
    from vit.trace import probabilities_of

    def size_of(model: VisionTransformer) -> int:
        return sum(parameter.nbytes for parameter in model.parameters())

    torch.set_num_threads(1)
    models = SizedCache(whole_number("PATCHWISE_MODELS_MB", 1_500) * 1_000_000, size_of)

    def answer(weights: Path, version: str, image: np.ndarray) -> np.ndarray | str:
        try:
            return probabilities_of(models.get((weights, version), partial(checkpoints.load, weights)), image)
        except Exception as error:  # whatever it is, the next question may be a better one
            return str(error) or type(error).__name__

    send(mouth, ["awake"])
    while line := ears.readline():
        asked = json.loads(line)
        images = [np.frombuffer(read_exactly(ears, math.prod(one["shape"])), np.uint8).reshape(one["shape"])
                  for one in asked]
        answers = [answer(Path(one["weights"]), one["version"], image)
                   for one, image in zip(asked, images, strict=True)]
        send(mouth, [found if isinstance(found, str) else found.nbytes for found in answers],
             b"".join(found.tobytes() for found in answers if not isinstance(found, str)))


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):  # whoever asked has gone
        main()
