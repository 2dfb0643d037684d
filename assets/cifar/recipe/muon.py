"""Muon (Keller Jordan and others, 2024): each matrix moves in all of its directions alike.

torch.optim.Muon computes in bfloat16, which some processors cannot; here it is float32.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

MOMENTUM, ROUNDS = 0.95, 5
A, B, C = 3.4445, -4.7750, 2.0315  # of the polynomial that brings singular values near 1
AS_ADAM = 0.2  # scales a step to the size that AdamW's have, so that both can share a learning rate


class Muon(torch.optim.Optimizer):
    def __init__(self, matrices: Iterable[nn.Parameter], weight_decay: float):
        super().__init__(list(matrices), {"lr": 0.0, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[nn.Parameter]] = {}
            for matrix in group["params"]:
                by_shape.setdefault(matrix.shape, []).append(matrix)
            for matrices in by_shape.values():
                steps = orthogonal(torch.stack([self._direction(matrix) for matrix in matrices]))
                size = AS_ADAM * max(matrices[0].shape) ** 0.5
                for matrix, step in zip(matrices, steps, strict=True):
                    matrix.mul_(1 - group["lr"] * group["weight_decay"]).add_(step, alpha=-group["lr"] * size)

    def _direction(self, matrix: nn.Parameter) -> Tensor:
        momentum = self.state[matrix].setdefault("momentum", torch.zeros_like(matrix))
        momentum.lerp_(matrix.grad, 1 - MOMENTUM)
        return matrix.grad.lerp(momentum, MOMENTUM)


def orthogonal(matrices: Tensor) -> Tensor:
    """(n, rows, columns), each with its singular values brought near 1 and its directions kept."""
    if matrices.shape[1] > matrices.shape[2]:
        return orthogonal(matrices.mT).mT
    x = matrices / (matrices.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(ROUNDS):
        gram = x @ x.mT
        x = A * x + (B * gram + C * gram @ gram) @ x
    return x
