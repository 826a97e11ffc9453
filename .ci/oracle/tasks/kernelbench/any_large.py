"""A task in KernelBench's form. Few data has another result."""

import torch
from torch import nn


class Model(nn.Module):
    """Whether an element has a magnitude above 6."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x.abs() > 6.0).any()


batch_size = 16
dim = 300


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
