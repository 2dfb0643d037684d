"""Results of studies as files hold them, made up."""

import random
from pathlib import Path

from vit.studies.catalogue import CATALOGUE
from vit.studies.results import Made, Result, RunResult, path_of, result_of, result_of_computation, write
from vit.studies.study import Computation, Computed, Study

MADE = Made({"python": "3.11", "torch": "2.13"}, "a processor", 2, 3600.0, "0123456789abcdef")
STEPS = range(0, 500, 100)


def run_of(setting: str, arm: str, seed: int, accuracy: float, ended="done", **readings) -> RunResult:
    curve = [(step, 2.0 - step / 400, accuracy * step / STEPS[-1]) for step in STEPS]
    measures = {"accuracy": accuracy, "gap": 1.0 + seed, "training accuracy": 99.0,
                "training accuracy of epoch 1": 38.0 + seed, "training accuracy of epoch 2": 61.0 + seed}
    times = {"seconds": 30.0, "log2 of seconds an image": -7.0 - (arm == "compiled") - seed / 100}
    return RunResult(setting, arm, seed, ended, STEPS[-1], measures, readings, times, [accuracy] * 10, curve, curve)


READ = {
    "scores": {f"variance of scores at the {when}{by}": [1.0, 1.5] if by else 1.25
               for when in ("start", "end") for by in ("", ", by block")},
    "gradients": {"gradients by block": [0.1, 1.0], "log10 of gradients, first block over last": -1.0},
    "attention": {"distance by block": [0.8, 1.0], "distance of the widest head by block": [0.9, 1.1],
                  "distance in the first block": 0.8, "distance of the widest head in the first block": 0.9},
    "mirrored": {"accuracy by class, as they are": [90.0] * 10, "accuracy by class, mirrored": [50.0] * 10},
}


def made_up(study: Study | Computation) -> Result:
    """Arms that differ by 3 points each, in all settings, with all seeds."""
    if isinstance(study, Computation):
        return result_of_computation(study, Computed({"digits": 100.0, "part": 0.25}, "holds"), MADE)
    noise = random.Random(study.number)
    readings = {name: value for one in study.readings for name, value in READ[one].items()}
    runs = [run_of(setting.name, arm.name, seed, round(95 - 3 * place + noise.uniform(-0.3, 0.3), 6), **readings)
            for setting in study.settings for place, arm in enumerate(study.arms) for seed in range(setting.seeds)]
    return result_of(study, runs, MADE)


def shelve(folder: Path, *ids: str) -> None:
    for name in ids or CATALOGUE:
        write(made_up(CATALOGUE[name]), path_of(name, folder))
