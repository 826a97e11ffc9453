"""A task in KernelBench's form, whose model has two parameters."""

import torch
from torch import nn


class Model(nn.Module):
    """The normalised rows, scaled and shifted."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


batch_size = 16
dim = 200


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return [dim]
