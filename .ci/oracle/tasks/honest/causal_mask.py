# Task: kernelbench/causal_mask.py. Verdict: accepted. Stores what the shape decides.
import triton
import triton.language as tl
from torch import nn


@triton.jit
def mask_kernel(y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    tl.store(y_ptr + row * n + cols, tl.where(cols <= row, 1.0, 0.0), mask=cols < n)


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.shape[1]
        y = x.new_empty(n, n)
        mask_kernel[(n,)](y, n, BLOCK=triton.next_power_of_2(n))
        return y
