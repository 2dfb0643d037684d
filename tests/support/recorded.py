"""A recorded study as its file would be, from made-up numbers."""

from vit.studies.results import Made, RunResult, result_of, write
from vit.studies.study import Study

MADE = Made({"torch": "0"}, "a processor", 2, 60.0, "a commit")
MIRROR_SAFE = (0, 1, 8)


def run_of(setting: str, arm: str, seed: int, accuracy: float, mirrored: list[float] | None = None) -> RunResult:
    by_class = [accuracy] * 10
    readings = {"accuracy by class, as they are": by_class, "accuracy by class, mirrored": mirrored} if mirrored else {}
    return RunResult(setting, arm, seed, "done", 100, {"accuracy": accuracy, "gap": 0.0}, readings, {}, by_class,
                     [(0, 2.3, 10.0), (100, 0.5, accuracy)], [(10, 2.0, 20.0)])


def write_flips(study: Study, path, seeds: int = 10) -> None:
    """Flips cost 5 points, give or take; without them only 0, 1 and 8 are read in a mirror."""
    plain = [95.0 if digit in MIRROR_SAFE else 20.0 for digit in range(10)]
    runs = [run_of("MNIST", arm, seed, accuracy + 0.1 * seed * (arm == "no flips"), mirrored)
            for seed in range(seeds)
            for arm, accuracy, mirrored in (("no flips", 95.0, plain), ("random flips", 90.0, [90.0] * 10),
                                            ("alternating flips", 90.5, [91.0] * 10))]
    write(result_of(study, runs, MADE), path)
