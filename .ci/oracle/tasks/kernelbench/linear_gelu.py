"""A task in KernelBench's form, with parameters: a linear layer and GELU."""

import torch
from torch import nn


class Model(nn.Module):
    """`gelu(x @ weight.T + bias)`, with the exact GELU."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.gelu(self.linear(x))


batch_size = 20
in_features = 48
out_features = 36


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, in_features)]


def get_init_inputs() -> list[object]:
    return [in_features, out_features]
