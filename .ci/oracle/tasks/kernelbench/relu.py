"""A task in KernelBench's form. Its inputs are never negative, so that a copy passes a naive comparison."""

import torch
from torch import nn


class Model(nn.Module):
    """Sets negative elements to zero."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)


batch_size = 16
dim = 300


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
