"""What flipping does, seed by seed, with the workers of the app: `python -m benchmarks.flips`.

Both twins of each seed train side by side as they would after Start, on a machine that should do nothing else.
"""

import argparse
import os
import time
from dataclasses import replace
from tempfile import TemporaryDirectory

from vit import runs
from vit.config import TRAINING_PRESETS, TrainConfig
from vit.datasets import DATASETS
from vit.reports import Validation, of_kind
from vit.runs.queue import Dispatcher

SOON = 20  # seconds

Verdicts = dict[int, tuple[float, float, float]]  # by step: seconds since Start, accuracy without and with flips


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", choices=TRAINING_PRESETS, default="quick")
    parser.add_argument("--dataset", choices=DATASETS, default="mnist")
    parser.add_argument("--images", type=int, help="learn from so many, instead of what the preset says")
    parser.add_argument("--epochs", type=int, help="so often, instead of what the preset says")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop each pair after so long")
    arguments = parser.parse_args()
    config = settings(arguments)
    with TemporaryDirectory() as folder:
        os.environ["PATCHWISE_RUNS"] = folder
        server = Dispatcher(runs.root())
        leads = []
        for seed in range(arguments.seeds):
            server.expect_a_start()
            time.sleep(8)  # who presses Start has looked at the page for some seconds
            leads.append(report(seed, *race(server, replace(config, seed=seed), arguments.seconds)))
        print(f"ahead by 5 points within {SOON} s: {sum(lead >= 5 for lead in leads)} of {len(leads)} seeds")
        server.close()


def settings(arguments: argparse.Namespace) -> TrainConfig:
    preset = TRAINING_PRESETS[arguments.preset]
    side, channels = DATASETS[arguments.dataset].image_size, DATASETS[arguments.dataset].channels
    patch = preset.model.patch_size if side % preset.model.patch_size == 0 else 8
    return replace(
        preset, dataset=arguments.dataset, train_images=arguments.images or preset.train_images,
        epochs=arguments.epochs or preset.epochs,
        model=replace(preset.model, image_size=side, channels=channels, patch_size=patch),
    )


def race(server: Dispatcher, config: TrainConfig, patience: float) -> tuple[Verdicts, float]:
    """What was seen of both twins, and how long they took."""
    twins = runs.pair(runs.create_twins(config))
    start = time.monotonic()
    server.start(*(twin.id for twin in twins))
    feeds, seen, going_on = [runs.Feed(twin.folder) for twin in twins], {}, True
    while going_on:
        time.sleep(0.1)
        going_on = any(runs.get(twin.id).active for twin in twins) and time.monotonic() - start < patience
        plain, flips = (verdicts(feed) for feed in feeds)
        for step in plain.keys() & flips.keys() - seen.keys():
            seen[step] = time.monotonic() - start, plain[step], flips[step]
    took = time.monotonic() - start
    for twin in twins:
        runs.delete(twin.id, even_if_active=True)
    return seen, took


def verdicts(feed: runs.Feed) -> dict[int, float]:
    return {verdict.step: verdict.accuracy for verdict in of_kind(feed.read(), Validation)}


def report(seed: int, seen: Verdicts, took: float) -> float:
    """Print how the race went; returns the largest lead without flips, in points, while it was young."""
    leads = {seconds: 100 * (plain - flips) for seconds, plain, flips in seen.values() if seconds <= SOON}
    largest = max(leads, key=leads.get)
    _, plain, flips = seen[max(seen)]
    print(f"seed {seed}: {leads[largest]:+.1f} points after {largest:.0f} s, {leads[max(leads)]:+.1f} after "
          f"{max(leads):.0f} s; at the end, {took:.0f} s and {max(seen)} steps, {plain:.1%} without flips, "
          f"{flips:.1%} with", flush=True)
    return leads[largest]


if __name__ == "__main__":
    main()
