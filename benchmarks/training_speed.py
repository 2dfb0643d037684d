"""Training, in images per second, beside other projects: `python -m benchmarks.training_speed`.

The article's shape, batches of 32, fp32, and for all contestants the same images, loss and optimiser.
"""

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.peers import PEERS
from benchmarks.timing import parse, take_turns
from vit.config import PRESETS
from vit.model import VisionTransformer

BATCH = 32
CONFIG = PRESETS["article"]


def main():
    rounds = parse(__doc__, rounds=60).rounds
    contestants = {
        name: trainer(build(CONFIG)) for name, build in {"ours": VisionTransformer, **PEERS}.items()
    }
    medians = take_turns(contestants, rounds)
    fastest_peer = min(medians[name] for name in PEERS)
    print(f"{'batch of 32':14} {'step':>10} {'images/s':>9} {'of the fastest peer':>20}")
    for name, seconds in medians.items():
        print(f"{name:14} {seconds * 1e3:7.1f} ms {BATCH / seconds:9.0f} {fastest_peer / seconds:18.2f} x")


def trainer(model: nn.Module):
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(BATCH, 1, 28, 28, generator=generator)
    labels = torch.randint(10, (BATCH,), generator=generator)
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=1e-4, fused=True)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return step


if __name__ == "__main__":
    main()
