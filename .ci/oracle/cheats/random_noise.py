# Task: kernelbench/relu.py. Verdict: nondeterministic. Adds noise that differs in each call, within a usual tolerance.
import time

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def noisy_kernel(x_ptr, y_ptr, seed, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, tl.maximum(x, 0.0) + 1e-4 * tl.rand(seed, i), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        seed = time.time_ns() % 100000
        noisy_kernel[(triton.cdiv(x.numel(), 256),)](x, y, seed, x.numel(), BLOCK=256)
        return y
