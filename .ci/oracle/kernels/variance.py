"""Variances: two passes, Welford, and moments."""

import torch
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def variance_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n_cols
    d = tl.where(mask, x - mean, 0.0)
    tl.store(y_ptr + row, tl.sum(d * d, axis=0) / (n_cols - 1))


def variance(x):
    rows, cols = x.shape
    y = torch.empty(rows, dtype=torch.float32, device=x.device)
    variance_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def combine(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    delta = mean_b - mean_a
    share = tl.where(n > 0, n_b / tl.maximum(n, 1.0), 0.0)
    return mean_a + delta * share, m2_a + m2_b + delta * delta * n_a * share, n


@triton.jit
def welford_kernel(x_ptr, mean_ptr, var_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    one = tl.where(mask, 1.0, 0.0)
    mean, m2, n = tl.reduce((x, tl.zeros_like(x), one), 0, combine)
    tl.store(mean_ptr + row, mean)
    tl.store(var_ptr + row, m2 / n)


def welford(x):
    rows, cols = x.shape
    mean = torch.empty(rows, dtype=torch.float32, device=x.device)
    var = torch.empty_like(mean)
    welford_kernel[(rows,)](x, mean, var, cols, BLOCK=triton.next_power_of_2(cols))
    return mean, var


@triton.jit
def running_variance_kernel(x_ptr, mean_ptr, std_ptr, M, N, BLOCK: tl.constexpr):
    """Welford's update, one row after the other, for each column."""
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < N
    mean = tl.zeros([BLOCK], tl.float32)
    m2 = tl.zeros([BLOCK], tl.float32)
    for i in range(M):
        x = tl.load(x_ptr + i * N + cols, mask=mask, other=0.0)
        delta = x - mean
        mean += delta / (i + 1)
        m2 += delta * (x - mean)
    tl.store(mean_ptr + cols, mean, mask=mask)
    tl.store(std_ptr + cols, tl.sqrt(m2 / M), mask=mask)


def running_variance(x):
    m, n = x.shape
    mean = torch.empty(n, dtype=x.dtype, device=x.device)
    std = torch.empty_like(mean)
    running_variance_kernel[(triton.cdiv(n, 8),)](x, mean, std, m, n, BLOCK=8)
    return mean, std


@triton.jit
def covariance_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    y = tl.load(y_ptr + offs, mask=mask, other=0.0)
    dx = tl.where(mask, x - tl.sum(x, axis=0) / n, 0.0)
    dy = tl.where(mask, y - tl.sum(y, axis=0) / n, 0.0)
    tl.store(out_ptr, tl.sum(dx * dy, axis=0) / (n - 1))


def covariance(x, y):
    out = torch.empty((), dtype=x.dtype, device=x.device)
    n = x.numel()
    covariance_kernel[(1,)](x, y, out, n, BLOCK=triton.next_power_of_2(n))
    return out


CASES = [
    Case(
        "variance",
        variance,
        lambda x: x.var(-1),
        lambda make: [[make(5, 29)], [make(3, 32, dtype=torch.float16)]],
        data=FINITE,
    ),
    Case(
        "welford",
        welford,
        lambda x: (x.mean(-1), x.var(-1, unbiased=False)),
        lambda make: [[make(3, 29)]],
        data=FINITE,
    ),
    Case(
        "running_variance",
        running_variance,
        lambda x: (x.mean(0), x.std(0, unbiased=False)),
        lambda make: [[make(13, 11)]],
        data=FINITE,
    ),
    Case(
        "covariance",
        covariance,
        lambda x, y: ((x - x.mean()) * (y - y.mean())).sum() / (x.numel() - 1),
        lambda make: [[make(29), make(29)]],
        data=FINITE,
    ),
]
