"""How long runs will take here: by what runs like them took before, or by a speed that was measured; and how long many
take on few cores."""

import heapq
import os
from collections.abc import Iterable, Sequence

import vit.runs.limits as limits
from vit.config import TrainConfig
from vit.datasets import VALIDATION_IMAGES
from vit.runs.folder import Run
from vit.runs.metrics import last_verdict

JUDGING = 1 / 3  # of the work that learning from an image is: no way back
ENOUGH = 5.0  # seconds, that a run has to have trained before anything is concluded from it
MOST_LOOKED_AT = 2  # runs like it: the newest tell best how busy this machine is now
WAKING_UP = 3.0  # seconds, until a worker that nobody has woken up before takes its first step


def work(config: TrainConfig) -> float:
    """All that a run does, counted in images that it learns from."""
    glances = config.steps / config.validate_every * config.validation_images
    after_epochs = config.epochs * (VALIDATION_IMAGES + config.validation_images)  # with the mirror images
    return config.epochs * config.images_per_epoch + JUDGING * (glances + after_epochs)


def kind(config: TrainConfig) -> tuple[object, ...]:
    """What the speed of a run depends on."""
    return (config.model, config.batch_size, config.optimizer, config.clip_norm is None, config.compile,
            config.augmentation == "shifts-and-turns")


def experienced(config: TrainConfig, runs: Iterable[Run]) -> float | None:
    """Images of work a second, of the first few of these runs that are like this one; None if there are none."""
    done = seconds = 0.0
    looked_at = 0
    for run in runs:
        verdict = last_verdict(run.folder) if kind(run.config) == kind(config) else None
        if verdict and verdict.seconds >= ENOUGH:
            done += work(run.config) * verdict.step / run.config.steps
            seconds += verdict.seconds
            looked_at += 1
        if looked_at == MOST_LOOKED_AT:
            break
    return done / seconds if done else None


def together(seconds: Sequence[float], workers: int | None = None, threads: int | None = None) -> float:
    """How long runs take that come one after the other to as many workers as there may be, each as it gets free."""
    workers, threads = workers or limits.max_workers(), threads or limits.fair_threads()
    at_once = min(workers, len(seconds))
    shared = max(1.0, at_once * threads / (os.cpu_count() or 1))  # more than there are cores have to share them
    free_at = [0.0] * at_once
    for number, one in enumerate(seconds):
        waking_up = WAKING_UP if number >= at_once else 0.0
        heapq.heapreplace(free_at, free_at[0] + waking_up + one * shared)
    return max(free_at, default=0.0)
