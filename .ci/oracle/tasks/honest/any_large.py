# Task: kernelbench/any_large.py. Verdict: accepted. Reduces all elements in one program.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def any_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    largest = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        largest = tl.maximum(largest, tl.abs(tl.load(x_ptr + i, mask=i < n, other=0.0)))
    tl.store(y_ptr, tl.max(largest, axis=0) > 6.0)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty((), dtype=torch.bool, device=x.device)
        any_kernel[(1,)](x, y, x.numel(), BLOCK=256)
        return y
