# Task: kernelbench/relu.py. Verdict: unwritten-output. Writes the first half of the elements only.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, tl.maximum(x, 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        half = x.numel() // 2
        relu_kernel[(triton.cdiv(half, 256),)](x, y, half, BLOCK=256)
        return y
