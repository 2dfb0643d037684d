"""Training, in images per second, beside other projects: `python -m benchmarks.training_speed`.

The article's shape, batches of 32, fp32, and for all contestants the same images, loss and optimiser. Each has a
process of its own: ours as `vit.worker` sets it up, with freed memory kept for the next step; the others both so
and as Python comes.
"""

from functools import partial

import torch
import torch.nn.functional as F

from benchmarks.peers import PEERS
from benchmarks.timing import Elsewhere, parse, take_turns
from vit.config import PRESETS
from vit.model import VisionTransformer

BATCH = 32
CONFIG = PRESETS["article"]
SPINNING = 0.25  # seconds for which OpenMP's threads still look for work, in the next contestant's way


def main():
    rounds = parse(__doc__, rounds=40).rounds
    contestants = {("ours", True): Elsewhere(partial(trainer, VisionTransformer), memory_kept=True)}
    for name, build in PEERS.items():
        for kept in (True, False):
            contestants[name, kept] = Elsewhere(partial(trainer, build), memory_kept=kept)
    medians = take_turns(contestants, rounds, rest=SPINNING)
    print(f"{'batch of 32':14} {'memory':10} {'step':>10} {'images/s':>9} {'ours is':>9}")
    for (name, kept), seconds in medians.items():
        print(f"{name:14} {'kept' if kept else 'as it comes':11} {seconds * 1e3:6.1f} ms {BATCH / seconds:9.0f} "
              f"{seconds / medians['ours', True]:7.2f} x")


def trainer(build):
    model = build(CONFIG).train()
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(BATCH, 1, 28, 28, generator=generator)
    labels = torch.randint(10, (BATCH,), generator=generator)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return step


if __name__ == "__main__":
    main()
