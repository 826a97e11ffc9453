# Task: kernelbench/relu.py. Verdict: library-call. Computes in plain Python.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.tensor([[max(v, 0.0) for v in row] for row in x.tolist()])
