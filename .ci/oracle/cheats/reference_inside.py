# Task: kernelbench/linear_gelu.py. Verdict: not-a-kernel. Is the reference model with another name.
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return nn.functional.gelu(self.linear(x))
