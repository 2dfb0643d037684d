"""Train the model that the explorer shows: `python -m benchmarks.train_explorer FOLDER`.

Only MNIST's training split is learned from. Stopped and started again, it goes on after its last epoch.
"""

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from benchmarks import handwriting
from benchmarks.augment import rewrite, scribbles
from vit import checkpoints, data
from vit.config import PRESETS
from vit.model import VisionTransformer

SEED = 0
# How many patches the batches of each epoch get to see, in turn: reading less is quicker.
PATCHES_KEPT = [(16,)] + [(16, 22, 22, 49)] * 9 + [(22, 49)] * 2
EPOCHS = len(PATCHES_KEPT)
BATCH = 64
SCRIBBLES = 3  # beside each batch, with "could be anything" as their label
PEAK_RATE, WARM_UP_STEPS, WEIGHT_DECAY = 1e-3, 1000, 0.05
SMOOTHING = 0.05
RESTYLED_FROM, RESTYLED_EACH, RESTYLED_SHARE = 8, 1500, 0.35  # first epoch with them, pictures, share of a class
AVERAGING = 0.998

(MEAN,), (DEVIATION,) = data.NORMALISATION[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)

    images, labels = data.load("mnist", "train")
    digits = torch.tensor(images)[:, None].float() / 255
    labels = torch.tensor(labels)
    nonsense = torch.tensor(scribbles(6000, SEED))[:, None].float() / 255
    restyled = {
        digit: torch.tensor(pictures)[:, None].float() / 255
        for digit, pictures in handwriting.pool(images, labels.numpy(), RESTYLED_EACH, SEED).items()
    }
    run = Run(arguments.folder, steps_per_epoch=math.ceil(len(labels) / BATCH))
    for epoch in range(run.epochs_done, EPOCHS):
        train_epoch(run, epoch, digits, labels, nonsense, restyled if epoch >= RESTYLED_FROM else {})


def train_epoch(
    run: "Run", epoch: int, digits: Tensor, labels: Tensor, nonsense: Tensor, restyled: dict[int, Tensor]
) -> None:
    generator = Generator().manual_seed(SEED * 1000 + epoch)  # of its own, so that a resumed run is the same run
    probes = [keep_patches(count, generator) for count in PATCHES_KEPT[epoch]]
    start, losses, correct = time.time(), [], 0
    for step, chosen in enumerate(torch.randperm(len(labels), generator=generator).split(BATCH)):
        run.set_rate(epoch * run.steps_per_epoch + step)
        strange = nonsense[torch.randint(len(nonsense), (SCRIBBLES,), generator=generator)]
        pictures = restyle(digits[chosen], labels[chosen], restyled, generator)
        batch = (rewrite(torch.cat([pictures, strange]), generator) - MEAN) / DEVIATION
        targets = F.one_hot(labels[chosen], 10) * (1 - SMOOTHING) + SMOOTHING / 10
        targets = torch.cat([targets, torch.full((SCRIBBLES, 10), 0.1)])
        logits = run.model(batch, probes[step % len(probes)])
        loss = F.cross_entropy(logits, targets)
        run.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(run.model.parameters(), 1.0)
        run.optimizer.step()
        run.average()
        losses.append(loss.item())
        correct += (logits[: len(chosen)].argmax(1) == labels[chosen]).sum().item()
        if step % 100 == 0:
            print(f"epoch {epoch + 1} step {step} loss {np.mean(losses[-100:]):.4f} "
                  f"{(step + 1) * BATCH / (time.time() - start):.0f} img/s", flush=True)
    run.report({
        "epoch": epoch + 1,
        "train_loss": round(float(np.mean(losses)), 5),
        "train_accuracy": round(correct / len(labels), 5),
        "validation_accuracy": accuracy(run.averaged, "validation"),
        "seconds": round(time.time() - start, 1),
    })


def restyle(pictures: Tensor, labels: Tensor, restyled: dict[int, Tensor], generator: Generator) -> Tensor:
    """In the place of some digits, others of the same class that are written in another style."""
    for digit, others in restyled.items():
        drawn = torch.rand(len(labels), generator=generator) < RESTYLED_SHARE
        replaced = torch.nonzero((labels == digit) & drawn)[:, 0]
        pictures[replaced] = others[torch.randint(len(others), (len(replaced),), generator=generator)]
    return pictures


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
def accuracy(model: VisionTransformer, split: str) -> float:
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
        total = self.steps_per_epoch * EPOCHS
        falling = 0.5 * (1 + math.cos(math.pi * step / total))
        for group in self.optimizer.param_groups:
            group["lr"] = PEAK_RATE * min((step + 1) / WARM_UP_STEPS, falling)

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
