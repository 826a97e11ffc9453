"""A task in KernelBench's form. Its rows are long, so that a judge reduces them."""

import torch
from torch import nn


class Model(nn.Module):
    """The sum of each row."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum(dim=1)


batch_size = 64
dim = 16384


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
