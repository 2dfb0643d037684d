"""A process of its own that reads drawings: a picture goes in, logits come out.

A reading is some hundred small steps of torch, and in a server with many visitors each of them waits for the
interpreter's lock. Here a visitor waits once, for the answer. `python -m vit.reader` listens on its standard input and
answers on its standard output: a line of JSON, then the bytes of an array.
"""

import contextlib
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import IO, Any

import numpy as np

PROJECT = Path(__file__).parent.parent


class CannotRead(Exception):
    """The process has ended, or could not read this: read without it."""


class Reader:
    """The side of those who ask. Many threads may: their questions are answered one by one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._awake = Event()
        self._lock = Lock()

    def start(self) -> None:
        """Unless it is there; it takes seconds until it is awake."""
        with self._lock:
            if self._process and self._process.poll() is None:
                return
            self._end()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "vit.reader"], cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )
            self._awake = Event()
            Thread(target=_tell_when_awake, args=(self._process, self._awake), daemon=True).start()

    def logits(self, weights: Path, version: str, image: np.ndarray) -> np.ndarray:
        """What the model in a file answers to one picture. The version tells the file from others of the same name."""
        question = {"weights": str(weights), "version": version, "shape": image.shape}
        if not self._awake.is_set():
            raise CannotRead("The process that reads drawings is not awake.")
        with self._lock:
            try:
                ears, mouth = _pipes(self._process)
                send(ears, question, image.astype(np.uint8, copy=False).tobytes())
                answer = receive(mouth)
                if "error" not in answer:
                    return np.frombuffer(read_exactly(mouth, answer["bytes"]), np.float32)
            except (OSError, ValueError) as error:
                self._end()
                raise CannotRead(f"The process that reads drawings has ended. {error}") from error
        raise CannotRead(answer["error"])

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


def send(pipe: IO[bytes], words: dict[str, Any], content: bytes = b"") -> None:
    pipe.write(json.dumps(words).encode() + b"\n" + content)
    pipe.flush()


def receive(pipe: IO[bytes]) -> dict[str, Any]:
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
    from vit.data import normalise
    from vit.environment import whole_number
    from vit.model import VisionTransformer

    def size_of(model: VisionTransformer) -> int:
        return sum(parameter.nbytes for parameter in model.parameters())

    torch.set_num_threads(1)
    models = SizedCache(whole_number("PATCHWISE_MODELS_MB", 1_500) * 1_000_000, size_of)
    send(mouth, {"awake": True})
    while line := ears.readline():
        question = json.loads(line)
        image = np.frombuffer(read_exactly(ears, int(np.prod(question["shape"]))), np.uint8)
        try:
            weights = Path(question["weights"])
            model = models.get((weights, question["version"]), partial(checkpoints.load, weights))
            with torch.inference_mode():
                logits = model(normalise(image.reshape(1, *question["shape"]), model.normalisation))[0].numpy()
        except Exception as error:  # whatever it is, the next question may be a better one
            send(mouth, {"error": str(error) or type(error).__name__})
            continue
        send(mouth, {"bytes": logits.nbytes}, logits.tobytes())


if __name__ == "__main__":
    main()
