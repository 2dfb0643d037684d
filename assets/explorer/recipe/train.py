"""Train the model that the explorer shows: `python -m assets.explorer.recipe.train FOLDER`.

Only MNIST's training split is learned from. Stopped and started again, it goes on after its last epoch.
"""

import argparse
import itertools
import math
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Generator, nn

from assets.explorer.recipe.lessons import BATCH, Lessons
from assets.explorer.recipe.teacher import opinion, teacher
from assets.recipes import Run, accuracy
from vit.config import PRESETS
from vit.model import VisionTransformer
from vit.process import keep_memory

SEED = 0
ALL = PRESETS["article"].patches
WARM_UP_STEPS, WEIGHT_DECAY, AVERAGING = 1000, 0.05, 0.998


class Epoch(NamedTuple):
    patches_kept: tuple[int, ...]  # by the batches in turn: reading less is quicker
    mildest: float = 1.0
    strongest: float = 1.0
    restyled: bool = True
    taught: float = 0.0  # the teachers' share in the targets
    teachers: int = 1
    hard: float = 0.0  # the share of images that are picked from the hard ones


class Cycle(NamedTuple):
    peak_rate: float
    epochs: list[Epoch]


CYCLES = [
    Cycle(1e-3, [
        Epoch((16,), restyled=False),
        *[Epoch((16, 22, 22, ALL), restyled=False)] * 7,
        *[Epoch((16, 22, 22, ALL))] * 2,
        *[Epoch((22, ALL))] * 2,
    ]),
    Cycle(6e-4, [
        *[Epoch((16, 22), mildest=0.2, taught=0.6)] * 5,
        *[Epoch((22, ALL), mildest=0.2, taught=0.6)] * 3,
        *[Epoch((ALL,), mildest=0.1, taught=0.6)] * 3,
    ]),
    Cycle(5e-4, [
        *[Epoch((22, ALL), mildest=0.1, taught=0.8)] * 3,
        *[Epoch((ALL,), mildest=0.1, taught=0.8)] * 7,
    ]),
    Cycle(4e-4, [
        *[Epoch((ALL,), mildest=0.0, taught=0.8)] * 6,
        *[Epoch((ALL,), mildest=0.0, strongest=0.6, taught=0.8)] * 4,
    ]),
    Cycle(3e-4, [
        *[Epoch((ALL,), mildest=0.0, strongest=0.7, taught=0.9, teachers=3, hard=0.33)] * 9,
    ]),
]  # fmt: skip
EPOCHS = [epoch for cycle in CYCLES for epoch in cycle.epochs]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    keep_memory()

    lessons = Lessons(SEED)
    teachers = [teacher(arguments.folder, lessons, seed) for seed in range(max(epoch.teachers for epoch in EPOCHS))]
    for number, guide in enumerate(teachers):
        read = accuracy(guide, "mnist", "validation")
        print(f"teacher {number} reads {read:.2%} of the validation images", flush=True)
    lessons.find_hard(lambda images: opinion(teachers, images))
    run = new_run(arguments.folder)
    for number in range(run.epochs_done, len(EPOCHS)):
        train_epoch(run, number, lessons, teachers)


def train_epoch(run: Run, number: int, lessons: Lessons, teachers: list[nn.Sequential]) -> None:
    epoch = EPOCHS[number]
    generator = Generator().manual_seed(SEED * 1000 + number)  # of its own, so that a resumed run is the same run
    probes = itertools.cycle([keep_patches(count, generator) if count < ALL else None for count in epoch.patches_kept])
    start, losses, correct = time.time(), [], 0
    batches = lessons.epoch(generator, epoch.mildest, epoch.strongest, epoch.restyled, epoch.hard)
    for step, (images, targets, labels) in enumerate(batches):
        if epoch.taught:
            targets = targets.lerp(opinion(teachers[: epoch.teachers], images), epoch.taught)
        logits = run.model(images, next(probes))
        loss = F.cross_entropy(logits, targets)
        run.learn(loss, rate(number * len(lessons) + step, len(lessons)))
        losses.append(loss.item())
        correct += (logits[: len(labels)].argmax(1) == labels).sum().item()
        if step % 100 == 0:
            print(f"epoch {number + 1} step {step} loss {np.mean(losses[-100:]):.4f} "
                  f"{(step + 1) * BATCH / (time.time() - start):.0f} img/s", flush=True)
    run.report({
        "epoch": number + 1,
        "train_loss": round(float(np.mean(losses)), 5),
        "train_accuracy": round(correct / len(lessons.labels), 5),
        "validation_accuracy": accuracy(run.averaged, "mnist", "validation"),
        "seconds": round(time.time() - start, 1),
    })


def keep_patches(count: int, generator: Generator):
    """A probe that leaves out patches, empty ones rather than inked: less work, and none can be relied on."""

    def probe(name, block, value):
        if name == "patches":
            ink = value.amax(2) > value.min() + 0.3
            urgency = ink * 0.8 + torch.rand(ink.shape, generator=generator)
            probe.kept = urgency.topk(count, dim=1).indices + 1
        if name == "tokens":
            patches = value.take_along_dim(probe.kept[:, :, None], dim=1)
            return torch.cat([value[:, :1], patches], dim=1)
        return value

    return probe


def new_run(folder: Path) -> Run:
    torch.manual_seed(SEED)
    model = VisionTransformer(PRESETS["article"])
    matrices = [p for p in model.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if p.dim() != 2]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay": 0.0}],
        betas=(0.9, 0.98), fused=True,
    )
    return Run(folder, model, {"adamw": optimizer}, AVERAGING)


def rate(step: int, steps_per_epoch: int) -> float:
    for cycle in CYCLES:
        steps = len(cycle.epochs) * steps_per_epoch
        if step < steps:
            break
        step -= steps
    falling = 0.5 * (1 + math.cos(math.pi * step / steps))
    return cycle.peak_rate * min((step + 1) / WARM_UP_STEPS, falling)


if __name__ == "__main__":
    main()
