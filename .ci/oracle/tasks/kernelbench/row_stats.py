"""A task in KernelBench's form, with several results by name."""

import torch
from torch import nn


class Model(nn.Module):
    """The mean and the largest element of each row, and no weights."""

    def forward(self, x: torch.Tensor) -> dict[str, object]:
        return {"mean": x.mean(dim=1), "largest": x.amax(dim=1), "weights": None}


batch_size = 16
dim = 300


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
