"""The article in full: its own figures, and those of its recipe run here.

    python -m vit.worker PLAIN --preset article --threads 1
    python -m vit.worker FLIPS --preset article --threads 1 --flips
    python -m vit.studies.article PLAIN FLIPS

The last command takes two run folders, done or not, and writes three files to assets/article:

metrics.json        "format", "made" (as in assets/studies), and "plain" and "flips", each with "epochs" (one entry for
                    each: its number, "training_loss", "training_accuracy", "validation_loss", "validation_accuracy",
                    "seconds" since the run began), "stopped" (early, at its last epoch, or not yet), "most_epochs",
                    "weights_after" (the epoch whose weights were judged and are kept), "test_accuracy",
                    "by_digit" and "by_digit_mirrored" (ten each, on all test images). Accuracies are in percent.
plain.safetensors   the weights in half precision, which the explorer opens as "the article's model"
flips.safetensors   those of its twin with flips
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vit import runs
from vit.config import TRAINING_PRESETS, TrainConfig
from vit.files import why, write_atomically
from vit.numbers import duration
from vit.reports import Validation, of_kind
from vit.runs import Run
from vit.shipped import ARTICLE
from vit.studies.results import DIGITS, BadStudy, Made, made_of
from vit.studies.strict import need, number, number_list, whole, word

FORMAT = 1
METRICS = ARTICLE / "metrics.json"
EARLY, AT_ITS_END, NOT_YET = "early", "at its last epoch", "not yet"
PLAIN, FLIPS = "plain", "flips"


@dataclass(frozen=True)
class EpochFigures:
    epoch: int
    training_loss: float
    training_accuracy: float
    validation_loss: float
    validation_accuracy: float
    seconds: float


@dataclass(frozen=True)
class Recorded:
    """One run of the article's recipe, as far as it came."""

    epochs: list[EpochFigures]
    stopped: str
    most_epochs: int
    weights_after: int
    test_accuracy: float
    by_digit: list[float]
    by_digit_mirrored: list[float]

    @property
    def last(self) -> EpochFigures:
        return self.epochs[-1]

    @property
    def seconds_an_epoch(self) -> float:
        return self.last.seconds / len(self.epochs)


@dataclass(frozen=True)
class Recipe:
    """Both runs, and how they came about."""

    plain: Recorded
    flips: Recorded
    made: Made


# What the article reports


@dataclass(frozen=True)
class Reported:
    """A line of the article's table, and how the same is read off a run of ours."""

    name: str
    flips: str
    plain: str
    ours: Callable[[Recorded], str]


def _percent(value: float) -> str:
    return f"{value:.2f} %"


def _after(run: Recorded, epoch: int) -> str:
    return _percent(run.epochs[epoch - 1].training_accuracy) if len(run.epochs) >= epoch else "not reached yet"


BEST = {PLAIN: 97.39, FLIPS: 95.47}  # validation accuracies, in percent
REPORTED = (  # as it stands under “Results Comparison” and “Training Dynamics”
    Reported("Best validation accuracy", _percent(BEST[FLIPS]), _percent(BEST[PLAIN]),
             lambda run: _percent(max(epoch.validation_accuracy for epoch in run.epochs))),
    Reported("Best validation loss", "0.1482", "0.0928",
             lambda run: f"{min(epoch.validation_loss for epoch in run.epochs):.4f}"),
    Reported("Final training accuracy", "98.46 %", "99.74 %", lambda run: _percent(run.last.training_accuracy)),
    Reported("Final training loss", "0.0510", "0.0139", lambda run: f"{run.last.training_loss:.4f}"),
    Reported("Accuracy in epoch 1", "36.17 %", "38.29 %", lambda run: _after(run, 1)),
    Reported("Accuracy in epoch 2", "58.26 %", "61.81 %", lambda run: _after(run, 2)),
    Reported("Epochs trained", "49", "34", lambda run: str(len(run.epochs))),
    Reported("Training time", "1,986 s", "2,717 s", lambda run: duration(run.last.seconds)),
    Reported("Time per epoch", "40.5 s", "79.9 s", lambda run: duration(run.seconds_an_epoch)),
    Reported("Test accuracy", "93.75 %", "100 %", lambda run: _percent(run.test_accuracy)),
)


# The file


def read(path: Path | None = None) -> Recipe | None:
    """What is recorded; None if nothing is. Raises BadStudy with a sentence if the file cannot be used."""
    path = path or METRICS
    try:
        content: Any = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadStudy(f"{path.name} cannot be read. {why(error)}") from error
    except (ValueError, RecursionError) as error:
        raise BadStudy(f"{path.name} is cut off or no JSON; record the article's runs again.") from error
    try:
        need(content["format"] == FORMAT, f"it has another format than {FORMAT}, which is known here.")
        return Recipe(_recorded(content[PLAIN]), _recorded(content[FLIPS]), made_of(content["made"]))
    except KeyError as error:
        raise BadStudy(f"{path.name} does not tell its {error.args[0]}.") from error
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise BadStudy(f"{path.name} cannot be used: {error}") from error


def _recorded(told: Any) -> Recorded:
    epochs = [EpochFigures(whole(epoch, "epoch"), *(number(epoch[name]) for name in (
        "training_loss", "training_accuracy", "validation_loss", "validation_accuracy", "seconds")))
        for epoch in told["epochs"]]
    need([epoch.epoch for epoch in epochs] == list(range(1, len(epochs) + 1)) and bool(epochs),
         "its epochs do not follow each other.")
    stopped = word(told, "stopped")
    need(stopped in (EARLY, AT_ITS_END, NOT_YET), f"a run does not end {stopped[:20]!r}.")
    digits = [number_list(told[name]) for name in ("by_digit", "by_digit_mirrored")]
    need(all(len(one) == 10 for one in digits), "there are ten digits.")
    return Recorded(epochs, stopped, whole(told, "most_epochs"), whole(told, "weights_after"),
                    number(told["test_accuracy"]), *digits)


def write(recipe: Recipe, path: Path) -> None:
    content = {"format": FORMAT} | asdict(recipe)
    write_atomically(path, json.dumps(content, indent=1, allow_nan=False).encode() + b"\n")


# Recording


def record(plain: Path, flips: Path, folder: Path) -> Recipe:
    """Read both runs, judge their last weights on all test images, and keep figures and weights."""
    from vit.studies.running import made

    folder.mkdir(parents=True, exist_ok=True)
    found = {name: _run_in(where, name) for name, where in ((PLAIN, plain), (FLIPS, flips))}
    recorded = {name: _record(run, folder / f"{name}.safetensors") for name, run in found.items()}
    seconds = sum(one.last.seconds for one in recorded.values())
    recipe = Recipe(recorded[PLAIN], recorded[FLIPS], made(seconds))
    write(recipe, folder / METRICS.name)
    return recipe


def _run_in(where: Path, name: str) -> Run:
    try:
        run = runs.read_run(where)
    except (runs.Unreadable, FileNotFoundError) as error:
        raise BadStudy(f"{where.name} holds no run that can be recorded. {error}") from error
    _check_recipe(where.name, run.config, flips=name == FLIPS)
    return run


def _check_recipe(folder: str, config: TrainConfig, flips: bool) -> None:
    if config.flips != flips:
        asked = "with" if flips else "without"
        raise BadStudy(f"{folder} is not the run {asked} flips: name the folder without flips first.")
    article = TRAINING_PRESETS["article"]
    for name in ("dataset", "optimizer", "learning_rate", "batch_size", "schedule", "stop_patience", "train_images"):
        if getattr(config, name) != getattr(article, name):
            raise BadStudy(f"{folder} does not follow the article: its {name.replace('_', ' ')} is "
                           f"{getattr(config, name)!r}, and {getattr(article, name)!r} is asked for.")
    if config.model != article.model:
        raise BadStudy(f"{folder} holds another model than the article's.")


def _record(run: Run, weights: Path) -> Recorded:
    from vit import checkpoints

    epochs = epochs_of([verdict for verdict in of_kind(runs.Feed(run.folder).read(), Validation) if verdict.whole])
    if not epochs or run.checkpoints[-1:] in ([], ["epoch-0000"]):
        raise BadStudy(f"{run.id} has not come to the end of its first epoch yet.")
    kept = run.folder / "checkpoints" / f"{run.checkpoints[-1]}.safetensors"
    model = checkpoints.load(kept)
    after = int(run.checkpoints[-1].removeprefix("epoch-"))
    of_epoch = epochs[min(after, len(epochs)) - 1]
    as_they_are, mirrored = (judged(model, mirror) for mirror in (False, True))
    details = {"dataset": run.config.dataset, "epoch": after, "flips": run.config.flips,
               "validation_accuracy": of_epoch.validation_accuracy / 100}
    checkpoints.save(model, weights, details, half=True)
    early = run.state == "done" and len(epochs) < run.config.epochs
    stopped = EARLY if early else AT_ITS_END if run.state == "done" else NOT_YET
    return Recorded(epochs, stopped, run.config.epochs, after, as_they_are[0], as_they_are[1], mirrored[1])


def epochs_of(verdicts: list[Validation]) -> list[EpochFigures]:
    return [EpochFigures(round(verdict.epoch), *(round(value, DIGITS) for value in (
        verdict.train_loss or 0.0, 100 * (verdict.train_accuracy or 0.0), verdict.loss, 100 * verdict.accuracy,
        verdict.seconds))) for verdict in verdicts]


def judged(model: Any, mirror: bool) -> tuple[float, list[float]]:
    """Accuracy in percent on all test images, or on their mirror images: of all, and of each digit."""
    import numpy as np

    from vit import data
    from vit.measures import confusion
    from vit.studies.computations import answers

    images, labels = data.load("mnist", "test")
    table = confusion(labels, answers(model, images[:, :, ::-1] if mirror else images), model.config.classes)
    by_digit = 100 * np.diag(table) / table.sum(1)
    return round(100 * float(np.diag(table).sum() / table.sum()), DIGITS), [round(float(v), DIGITS) for v in by_digit]


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m vit.studies.article", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plain", type=Path, help="the folder of the run without flips")
    parser.add_argument("flips", type=Path, help="the folder of the run with flips")
    parser.add_argument("--output", type=Path, default=ARTICLE, help="where to write")
    arguments = parser.parse_args(words)
    try:
        recipe = record(arguments.plain, arguments.flips, arguments.output)
    except BadStudy as error:
        print(error, file=sys.stderr)
        return 1
    for name, run in ((PLAIN, recipe.plain), (FLIPS, recipe.flips)):
        print(f"{name}: {len(run.epochs)} epochs, stopped {run.stopped}, {run.test_accuracy:.2f} % of the test images.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
