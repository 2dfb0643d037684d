"""What the recipes of the models that ship have in common."""

import copy
import json
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from benchmarks.report import logits_of
from vit import calibration, checkpoints, data
from vit.datasets import DATASETS
from vit.explain import softmax
from vit.measures import best_temperature, expected_calibration_error, sure_from
from vit.model import VisionTransformer

MOST_CHANGED = 0.0005  # of the answers, by half precision


class Run:
    """A model, the moving average of its weights and its optimizers, in a folder from which they can go on."""

    def __init__(self, folder: Path, model: VisionTransformer, optimizers: dict[str, Optimizer], averaging: float):
        self.folder, self.model, self.optimizers, self.averaging = folder, model.train(), optimizers, averaging
        self.averaged = copy.deepcopy(model).eval().requires_grad_(False)
        self.epochs_done = 0
        if (folder / "state.safetensors").exists():
            self._resume()

    def learn(self, loss: Tensor, rate: float) -> None:
        """One step down the slope of a loss."""
        for optimizer in self.optimizers.values():
            optimizer.zero_grad()
            for group in optimizer.param_groups:
                group["lr"] = rate
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer in self.optimizers.values():
            optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(
                list(self.averaged.parameters()), list(self.model.parameters()), 1 - self.averaging
            )

    def report(self, metrics: dict) -> None:
        """Keep all that an epoch has led to."""
        print(json.dumps(metrics), flush=True)
        self.epochs_done = metrics["epoch"]
        tensors = {f"model.{k}": v for k, v in self.model.state_dict().items()}
        tensors |= {f"averaged.{k}": v for k, v in self.averaged.state_dict().items()}
        for name, optimizer in self.optimizers.items():
            tensors |= {f"{name}.{k}": v for k, v in checkpoints.pack_optimizer(optimizer).items()}
        checkpoints.write_tensors(self.folder / "state.safetensors", tensors, {"epochs_done": self.epochs_done})
        checkpoints.save(self.averaged, self.folder / f"epoch-{self.epochs_done:02}.safetensors", metrics)
        with open(self.folder / "metrics.jsonl", "a") as file:
            file.write(json.dumps(metrics) + "\n")

    def _resume(self) -> None:
        tensors, header = checkpoints.read_tensors(self.folder / "state.safetensors")

        def part(name):
            return {k.removeprefix(f"{name}."): v for k, v in tensors.items() if k.startswith(f"{name}.")}

        self.epochs_done = header["epochs_done"]
        self.model.load_state_dict(part("model"))
        self.averaged.load_state_dict(part("averaged"))
        for name, optimizer in self.optimizers.items():
            checkpoints.unpack_optimizer(optimizer, part(name))


def accuracy(model: torch.nn.Module, dataset: str, split: str) -> float:
    """The share of a split that a model reads right."""
    images, labels = data.load(dataset, split)
    with torch.inference_mode():
        right = sum(
            int((model(data.normalise(images[i : i + 250])).argmax(1).numpy() == labels[i : i + 250]).sum())
            for i in range(0, len(labels), 250)
        )
    return right / len(labels)


def ship(model: VisionTransformer, dataset: str, path: Path, told: dict, smoothing: float) -> np.ndarray:
    """Write the file that ships, with all that was measured of it and what else is told; gives what it says to the test
    images.

    The temperature (never one that sharpens) and the "not sure" threshold suit the validation split; the test set is
    looked at only to report on it, and for whether half precision changes an answer.
    """
    images, labels = data.load(dataset, "validation")
    logits = logits_of(model, images)
    best = best_temperature(logits, labels)
    temperature = max(1.0, best)  # below 1 it would make the model surer of everything, also of what it cannot know
    model.head.weight /= temperature  # the same as dividing the logits, and nobody has to remember to
    model.head.bias /= temperature
    calibrated = softmax(logits / temperature)

    test_images, test_labels = data.load(dataset, "test")
    whole = logits_of(model, test_images)
    halved = logits_of(copy.deepcopy(model).half().float(), test_images)
    change, changed = float(np.abs(whole - halved).max()), int((whole.argmax(1) != halved.argmax(1)).sum())
    half = change < 1e-2 and changed <= MOST_CHANGED * len(test_labels)  # then the file may be half as large
    shipped_logits = halved if half else whole
    test = softmax(shipped_logits)
    details = told | {
        "dataset": dataset,
        "temperature": round(temperature, 4),
        "best_temperature_on_validation": round(best, 4),
        "unsure_below": round(sure_from(calibrated, labels), 4),
        "validation_accuracy": float((calibrated.argmax(1) == labels).mean()),
        "test_accuracy": float((test.argmax(1) == test_labels).mean()),
        "calibration_error": round(expected_calibration_error(test, test_labels), 5),
        "calibration_error_at_best_temperature": round(
            expected_calibration_error(softmax(shipped_logits * temperature / best), test_labels), 5
        ),
        "half_precision": half,
        "halving_changes_logits_by": round(change, 5),
        "halving_changes_predictions": changed,
    }
    checkpoints.save(model, path, details, half=half)
    record_calibration(test, test_labels, dataset, path, smoothing)
    print(json.dumps({name: value for name, value in details.items() if name != "epochs"}, indent=1))
    return test


def record_calibration(
    probabilities: np.ndarray, labels: np.ndarray, dataset: str, path: Path, smoothing: float
) -> None:
    """What a model says to the test images, and what they are, beside its weights."""
    measured_on = f"{DATASETS[dataset].title}'s {len(labels):,} test images"
    measured = calibration.measure(probabilities, labels, measured_on, smoothing)
    calibration.write(measured, path)
    for part in measured.bins:
        print(f"{part.low:.0%} to {part.high:.0%}: {part.images:5} images, {part.accuracy:.1%} right")


def epochs_of(folder: Path) -> list[dict]:
    """What was reported after each epoch."""
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
