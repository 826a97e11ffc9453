"""A task in KernelBench's form. Its numbers are float64."""

import torch
from torch import nn


class Model(nn.Module):
    """Softmax over the last dimension."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=1)


batch_size = 4
dim = 300


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, dim, dtype=torch.float64)]


def get_init_inputs() -> list[object]:
    return []
