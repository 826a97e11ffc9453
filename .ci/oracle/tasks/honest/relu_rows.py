# Task: kernelbench/relu.py. Verdict: accepted. A program for each row, with strides.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_rows_kernel(x_ptr, y_ptr, xs0, xs1, ys0, ys1, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * xs0 + cols * xs1, mask=cols < n_cols)
    tl.store(y_ptr + row * ys0 + cols * ys1, tl.where(x > 0, x, 0.0), mask=cols < n_cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rows, cols = x.shape
        relu_rows_kernel[(rows,)](
            x, y, x.stride(0), x.stride(1), y.stride(0), y.stride(1), cols, BLOCK=triton.next_power_of_2(cols)
        )
        return y
