"""A task in KernelBench's form, whose result depends on the shape alone."""

import torch
from torch import nn


class Model(nn.Module):
    """A lower triangle of ones as large as the rows are long."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.new_ones(x.shape[1], x.shape[1]).tril()


batch_size = 16
dim = 64


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
