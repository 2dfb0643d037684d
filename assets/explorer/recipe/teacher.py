"""Small convolutional networks that learn MNIST quickly, and whose answers then guide the explorer's model.

A convolution knows from the start that neighbouring pixels belong together; a ViT has to find that out.
"""

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from assets.explorer.recipe.lessons import Lessons
from vit import checkpoints

EPOCHS, PEAK_RATE, MILDEST = 10, 4e-3, 0.3


def convolution(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


def network() -> nn.Sequential:
    return nn.Sequential(
        convolution(1, 24), convolution(24, 24), nn.MaxPool2d(2),
        convolution(24, 48), convolution(48, 48), nn.MaxPool2d(2),
        convolution(48, 96), nn.Flatten(), nn.Dropout(0.3), nn.Linear(96 * 7 * 7, 10),
    )  # fmt: skip


def teacher(folder: Path, lessons: Lessons, seed: int) -> nn.Sequential:
    """From the folder, or trained and put there."""
    path = folder / f"teacher-{seed}.safetensors"
    if not path.exists():
        checkpoints.write_tensors(path, train(lessons, seed).state_dict(), {})
    model = network()
    model.load_state_dict(checkpoints.read_tensors(path)[0])
    return model.eval().requires_grad_(False)


def train(lessons: Lessons, seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    model = network().train().to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01, fused=True)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, EPOCHS * len(lessons))
    for epoch in range(EPOCHS):
        right = 0
        for images, targets, labels in lessons.epoch(Generator().manual_seed(seed * 1000 + epoch), MILDEST):
            logits = model(images.contiguous(memory_format=torch.channels_last))
            optimizer.zero_grad()
            F.cross_entropy(logits, targets).backward()
            optimizer.step()
            rate.step()
            right += int((logits[: len(labels)].argmax(1) == labels).sum())
        read = right / len(lessons.labels)
        print(f"teacher {seed}, epoch {epoch + 1} of {EPOCHS}: {read:.2%} of its lessons", flush=True)
    return model


@torch.inference_mode()
def opinion(models: list[nn.Sequential], images: Tensor) -> Tensor:
    """The mean of what they answer."""
    return torch.stack([model(images).softmax(1) for model in models]).mean(0)
