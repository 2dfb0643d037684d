"""What it costs to look inside: `python -m benchmarks.forward`.

One image in the article's shape, without gradients: our full trace and our plain forward pass, beside the
plain forward passes of other projects. And what a training step pays for the probe that it does not use.
"""

import time

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks.peers import PEERS
from benchmarks.timing import parse, take_turns
from vit.config import PRESETS
from vit.model import VisionTransformer, untouched
from vit.trace import trace_image

CONFIG = PRESETS["article"]


def main():
    rounds = parse(__doc__, rounds=200).rounds
    compare_one_image(rounds)
    measure_unused_probe(max(1, rounds // 20))


def compare_one_image(rounds: int) -> None:
    digit = np.random.default_rng(0).integers(0, 256, (28, 28), dtype=np.uint8)
    image = torch.randn(1, 1, 28, 28)
    ours = VisionTransformer(CONFIG).eval()

    def plain(model):
        def forward():
            with torch.inference_mode():
                model(image)

        return forward

    contestants = {"ours, full trace": lambda: trace_image(ours, digit), "ours": plain(ours)}
    contestants |= {name: plain(build(CONFIG).eval()) for name, build in PEERS.items()}
    medians = take_turns(contestants, rounds)
    print(f"{'one image':18} {'median':>9} {'of torchvision':>15}")
    for name, seconds in medians.items():
        print(f"{name:18} {seconds * 1e3:6.2f} ms {seconds / medians['torchvision']:13.2f} x")


def measure_unused_probe(rounds: int) -> None:
    """The probe's calls, counted, times the cost of one, as a share of a training step."""
    model, images = VisionTransformer(CONFIG), torch.randn(32, 1, 28, 28)
    labels = torch.randint(10, (32,))
    calls = 0

    def count(name, block, value):
        nonlocal calls
        calls += 1
        return value

    model(images, count)

    def step():
        model.zero_grad()
        F.cross_entropy(model(images), labels).backward()

    seconds = take_turns({"step": step}, rounds, warm_up=1)["step"]
    repeats = 100_000
    start = time.perf_counter()
    for _ in range(repeats):
        untouched("scores", 0, images)
    per_call = (time.perf_counter() - start) / repeats
    print(f"\nThe unused probe is called {calls} times a step, {per_call * 1e9:.0f} ns each: "
          f"{calls * per_call / seconds:.4%} of a training step of {seconds * 1e3:.0f} ms.")


if __name__ == "__main__":
    main()
