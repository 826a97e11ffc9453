# Task: kernelbench/layer_norm.py. Verdict: accepted. Combines means and variances as `torch.compile` does.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def combine(mean_1, m2_1, weight_1, mean_2, m2_2, weight_2):
    delta = mean_2 - mean_1
    weight = weight_1 + weight_2
    ratio = tl.where(weight == 0.0, 0.0, weight_2 / weight)
    return mean_1 + delta * ratio, m2_1 + m2_2 + delta * delta * weight_1 * ratio, weight


@triton.jit
def norm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=inside, other=0.0)
    mean, m2, weight = tl.reduce((x, tl.zeros_like(x), inside.to(tl.float32)), 0, combine)
    y = (x - mean) * tl.rsqrt(m2 / weight + 1e-5)
    y = y * tl.load(w_ptr + cols, mask=inside) + tl.load(b_ptr + cols, mask=inside)
    tl.store(y_ptr + row * n_cols + cols, y, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, cols = x.shape
        block = triton.next_power_of_2(cols)
        norm_kernel[(rows,)](x, self.norm.weight, self.norm.bias, y, cols, BLOCK=block)
        return y
