"""Train the model that the explorer shows: `python -m assets.explorer.recipe.train FOLDER`.

Only MNIST's training split is learned from. Stopped and started again, it goes on after its last epoch.
"""

import argparse
import itertools
import json
import math
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from assets.explorer.recipe.lessons import BATCH, Lessons
from assets.explorer.recipe.teacher import opinion, teacher
from vit import checkpoints, data
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
        print(f"teacher {number} reads {accuracy(guide, 'validation'):.2%} of the validation images", flush=True)
    lessons.find_hard(lambda images: opinion(teachers, images))
    run = Run(arguments.folder, steps_per_epoch=len(lessons))
    for number in range(run.epochs_done, len(EPOCHS)):
        train_epoch(run, number, lessons, teachers)


def train_epoch(run: "Run", number: int, lessons: Lessons, teachers: list[nn.Sequential]) -> None:
    epoch = EPOCHS[number]
    generator = Generator().manual_seed(SEED * 1000 + number)  # of its own, so that a resumed run is the same run
    probes = itertools.cycle([keep_patches(count, generator) if count < ALL else None for count in epoch.patches_kept])
    start, losses, correct = time.time(), [], 0
    batches = lessons.epoch(generator, epoch.mildest, epoch.strongest, epoch.restyled, epoch.hard)
    for step, (images, targets, labels) in enumerate(batches):
        run.set_rate(number * run.steps_per_epoch + step)
        if epoch.taught:
            targets = targets.lerp(opinion(teachers[: epoch.teachers], images), epoch.taught)
        logits = run.model(images, next(probes))
        loss = F.cross_entropy(logits, targets)
        run.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(run.model.parameters(), 1.0)
        run.optimizer.step()
        run.average()
        losses.append(loss.item())
        correct += (logits[: len(labels)].argmax(1) == labels).sum().item()
        if step % 100 == 0:
            print(f"epoch {number + 1} step {step} loss {np.mean(losses[-100:]):.4f} "
                  f"{(step + 1) * BATCH / (time.time() - start):.0f} img/s", flush=True)
    run.report({
        "epoch": number + 1,
        "train_loss": round(float(np.mean(losses)), 5),
        "train_accuracy": round(correct / len(lessons.labels), 5),
        "validation_accuracy": accuracy(run.averaged, "validation"),
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


@torch.inference_mode()
def accuracy(model: nn.Module, split: str) -> float:
    images, labels = data.load("mnist", split)
    right = sum(
        int((model(data.normalise(images[i : i + 250])).argmax(1).numpy() == labels[i : i + 250]).sum())
        for i in range(0, len(labels), 250)
    )
    return right / len(labels)


class Run:
    """The model, its moving average and its optimiser, in a folder from which they can go on."""

    def __init__(self, folder: Path, steps_per_epoch: int):
        torch.manual_seed(SEED)
        self.folder, self.steps_per_epoch, self.epochs_done = folder, steps_per_epoch, 0
        self.model = VisionTransformer(PRESETS["article"]).train()
        self.averaged = VisionTransformer(PRESETS["article"]).eval().requires_grad_(False)
        self.averaged.load_state_dict(self.model.state_dict())
        matrices = [p for p in self.model.parameters() if p.dim() == 2]
        others = [p for p in self.model.parameters() if p.dim() != 2]
        self.optimizer = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay": 0.0}],
            betas=(0.9, 0.98), fused=True,
        )
        if (folder / "state.safetensors").exists():
            self.resume()

    def set_rate(self, step: int) -> None:
        for cycle in CYCLES:
            steps = len(cycle.epochs) * self.steps_per_epoch
            if step < steps:
                break
            step -= steps
        falling = 0.5 * (1 + math.cos(math.pi * step / steps))
        for group in self.optimizer.param_groups:
            group["lr"] = cycle.peak_rate * min((step + 1) / WARM_UP_STEPS, falling)

    @torch.no_grad()
    def average(self) -> None:
        torch._foreach_lerp_(list(self.averaged.parameters()), list(self.model.parameters()), 1 - AVERAGING)

    def report(self, metrics: dict) -> None:
        print(json.dumps(metrics), flush=True)
        self.epochs_done = metrics["epoch"]
        tensors = {f"model.{k}": v for k, v in self.model.state_dict().items()}
        tensors |= {f"averaged.{k}": v for k, v in self.averaged.state_dict().items()}
        for number, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{key}": value for key, value in state.items()}
        checkpoints.write_tensors(self.folder / "state.safetensors", tensors, {"epochs_done": self.epochs_done})
        checkpoints.save(self.averaged, self.folder / f"epoch-{self.epochs_done:02}.safetensors", metrics)
        with open(self.folder / "metrics.jsonl", "a") as file:
            file.write(json.dumps(metrics) + "\n")

    def resume(self) -> None:
        tensors, header = checkpoints.read_tensors(self.folder / "state.safetensors")

        def part(name):
            prefix = f"{name}."
            return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}

        self.epochs_done = header["epochs_done"]
        self.model.load_state_dict(part("model"))
        self.averaged.load_state_dict(part("averaged"))
        moments: dict[int, dict[str, Tensor]] = {}
        for key, value in part("optimizer").items():
            number, name = key.split(".")
            moments.setdefault(int(number), {})[name] = value
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": moments})


if __name__ == "__main__":
    main()
