"""Train the model that reads photos: `python -m assets.cifar.recipe.train FOLDER`.

Only CIFAR-10's training split is learned from. Stopped and started again, it goes on after its last epoch.
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Generator

from assets.cifar.recipe.beginning import begin
from assets.cifar.recipe.lessons import BATCH, Lessons
from assets.cifar.recipe.muon import Muon
from assets.recipes import Run, accuracy
from vit.config import PRESETS
from vit.model import Probe, VisionTransformer
from vit.process import keep_memory

SEED = 0
ALL = PRESETS["cifar"].patches
PATCHES_KEPT = [24] * 13 + [40] * 2 + [ALL] * 3  # in each epoch: reading less is quicker
PEAK_RATE, WARM_UP_STEPS, WEIGHT_DECAY, SMOOTHING, AVERAGING = 2e-3, 300, 0.05, 0.1, 0.998


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    keep_memory()
    lessons, run = Lessons(), new_run(arguments.folder)
    for number in range(run.epochs_done, len(PATCHES_KEPT)):
        train_epoch(run, number, lessons)


def new_run(folder: Path) -> Run:
    torch.manual_seed(SEED)
    model = VisionTransformer(PRESETS["cifar"])
    begin(model)
    matrices = [p for p in model.blocks.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if not any(p is matrix for matrix in matrices)]
    optimizers = {
        "muon": Muon(matrices, WEIGHT_DECAY),
        "adamw": torch.optim.AdamW(others, betas=(0.9, 0.98), weight_decay=0.0, fused=True),
    }
    return Run(folder, model, optimizers, AVERAGING)


def train_epoch(run: Run, number: int, lessons: Lessons) -> None:
    generator = Generator().manual_seed(SEED * 1000 + number)  # of its own, so that a resumed run is the same run
    probe = keep_patches(PATCHES_KEPT[number], generator) if PATCHES_KEPT[number] < ALL else None
    start, losses, right = time.time(), [], 0
    for step, (images, labels) in enumerate(lessons.epoch(generator)):
        logits = run.model(images, probe)
        loss = F.cross_entropy(logits, labels, label_smoothing=SMOOTHING)
        run.learn(loss, rate(number * len(lessons) + step, len(PATCHES_KEPT) * len(lessons)))
        losses.append(loss.item())
        right += int((logits.argmax(1) == labels).sum())
        if step % 50 == 0:
            print(f"epoch {number + 1} step {step} loss {np.mean(losses[-50:]):.4f} "
                  f"{(step + 1) * BATCH / (time.time() - start):.0f} img/s", flush=True)
    run.report({
        "epoch": number + 1,
        "train_loss": round(float(np.mean(losses)), 5),
        "train_accuracy": round(right / len(lessons.labels), 5),
        "validation_accuracy": accuracy(run.averaged, "cifar10", "validation"),
        "seconds": round(time.time() - start, 1),
    })


def rate(step: int, steps: int) -> float:
    return PEAK_RATE * min((step + 1) / WARM_UP_STEPS, 0.5 * (1 + math.cos(math.pi * step / steps)))


def keep_patches(count: int, generator: Generator) -> Probe:
    """A probe that leaves out all but so many patches, others in each picture: less work, and none can be relied on."""

    def probe(name, block, value):
        if name != "tokens":
            return value
        drawn = torch.rand(len(value), value.shape[1] - 1, generator=generator)
        kept = drawn.topk(count, dim=1).indices + 1
        return torch.cat([value[:, :1], value.take_along_dim(kept[:, :, None], dim=1)], dim=1)

    return probe


if __name__ == "__main__":
    main()
