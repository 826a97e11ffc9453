# Task: kernelbench/row_stats.py. Verdict: wrong. Returns the results in a tuple in place of a dict.
import triton
import triton.language as tl
from torch import nn


@triton.jit
def stats_kernel(x_ptr, mean_ptr, largest_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    largest = tl.full([BLOCK], -float("inf"), tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
        total += x
        largest = tl.maximum(largest, tl.where(cols < n_cols, x, -float("inf")))
    tl.store(mean_ptr + row, tl.sum(total, axis=0) / n_cols)
    tl.store(largest_ptr + row, tl.max(largest, axis=0))


def compute(x):
    x = x.contiguous()
    mean, largest = x.new_empty(x.shape[0]), x.new_empty(x.shape[0])
    stats_kernel[(x.shape[0],)](x, mean, largest, x.shape[1], BLOCK=256)
    return mean, largest


class ModelNew(nn.Module):
    def forward(self, x):
        mean, largest = compute(x)
        return mean, largest, None
