"""Normalisation of groups, instances and batches."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def groupnorm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, groups, channels, length, eps, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    group = pid % groups
    size = channels // groups * length
    offs = tl.arange(0, BLOCK)
    mask = offs < size
    x = tl.load(x_ptr + pid * size + offs, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / size
    centred = tl.where(mask, x - mean, 0.0)
    var = tl.sum(centred * centred, axis=0) / size
    channel = group * (channels // groups) + offs // length
    w = tl.load(w_ptr + channel, mask=mask)
    b = tl.load(b_ptr + channel, mask=mask)
    y = centred * tl.rsqrt(var + eps) * w + b
    tl.store(y_ptr + pid * size + offs, y, mask=mask)


def groupnorm(x, groups, w, b):
    y = torch.empty_like(x)
    n, channels, length = x.shape
    block = triton.next_power_of_2(channels // groups * length)
    groupnorm_kernel[(n * groups,)](x, w, b, y, groups, channels, length, 1e-5, BLOCK=block)
    return y


@triton.jit
def instancenorm_kernel(x_ptr, y_ptr, length, eps, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, length, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + pid * length + offs, mask=offs < length, other=0.0)
    mean = tl.sum(total, axis=0) / length
    for start in range(0, length, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + pid * length + offs, mask=offs < length, other=0.0)
        d = tl.where(offs < length, x - mean, 0.0)
        squares += d * d
    rstd = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / length + eps)
    for start in range(0, length, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + pid * length + offs, mask=offs < length)
        tl.store(y_ptr + pid * length + offs, (x - mean) * rstd, mask=offs < length)


def instancenorm(x):
    y = torch.empty_like(x)
    n, c, length = x.shape
    instancenorm_kernel[(n * c,)](x, y, length, 1e-5, BLOCK=8)
    return y


@triton.jit
def batchnorm_eval_kernel(
    x_ptr, mean_ptr, var_ptr, w_ptr, b_ptr, y_ptr, channels, length, n, eps, BLOCK: tl.constexpr
):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    channel = offs // length % channels
    x = tl.load(x_ptr + offs, mask=mask)
    mean = tl.load(mean_ptr + channel, mask=mask)
    var = tl.load(var_ptr + channel, mask=mask, other=1.0)
    w = tl.load(w_ptr + channel, mask=mask)
    b = tl.load(b_ptr + channel, mask=mask)
    tl.store(y_ptr + offs, (x - mean) / tl.sqrt(var + eps) * w + b, mask=mask)


def batchnorm_eval(x, mean, var, w, b):
    y = torch.empty_like(x)
    n = x.numel()
    batchnorm_eval_kernel[(triton.cdiv(n, 64),)](
        x, mean, var, w, b, y, x.shape[1], x.shape[2], n, 1e-5, BLOCK=64
    )
    return y


@triton.jit
def batchnorm_stats_kernel(
    x_ptr, mean_ptr, var_ptr, batch, channels, length, BLOCK_N: tl.constexpr, BLOCK_L: tl.constexpr
):
    c = tl.program_id(0)
    rows = tl.arange(0, BLOCK_N)
    cols = tl.arange(0, BLOCK_L)
    mask = (rows[:, None] < batch) & (cols[None, :] < length)
    x = tl.load(x_ptr + (rows[:, None] * channels + c) * length + cols[None, :], mask=mask, other=0.0)
    count = batch * length
    mean = tl.sum(tl.sum(x, axis=1), axis=0) / count
    d = tl.where(mask, x - mean, 0.0)
    var = tl.sum(tl.sum(d * d, axis=1), axis=0) / (count - 1)
    tl.store(mean_ptr + c, mean)
    tl.store(var_ptr + c, var)


def batchnorm_stats(x):
    n, c, length = x.shape
    mean = torch.empty(c, dtype=x.dtype, device=x.device)
    var = torch.empty_like(mean)
    batchnorm_stats_kernel[(c,)](
        x, mean, var, n, c, length, BLOCK_N=triton.next_power_of_2(n), BLOCK_L=triton.next_power_of_2(length)
    )
    return mean, var


@triton.jit
def standardise_kernel(x_ptr, y_ptr, n_rows, n_cols, BLOCK_M: tl.constexpr):
    """Subtracts from each column its mean, and divides by its standard deviation."""
    col = tl.program_id(0)
    rows = tl.arange(0, BLOCK_M)
    mask = rows < n_rows
    x = tl.load(x_ptr + rows * n_cols + col, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / n_rows
    d = tl.where(mask, x - mean, 0.0)
    std = tl.sqrt(tl.sum(d * d, axis=0) / (n_rows - 1))
    tl.store(y_ptr + rows * n_cols + col, d / (std + 1e-3), mask=mask)


def standardise(x):
    y = torch.empty_like(x)
    m, n = x.shape
    standardise_kernel[(n,)](x, y, m, n, BLOCK_M=triton.next_power_of_2(m))
    return y


@triton.jit
def minmax_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    low = tl.min(tl.where(mask, x, float("inf")), axis=0)
    high = tl.max(tl.where(mask, x, -float("inf")), axis=0)
    tl.store(y_ptr + row * n_cols + cols, (x - low) / (high - low + 1e-3), mask=mask)


def minmax(x):
    y = torch.empty_like(x)
    m, n = x.shape
    minmax_kernel[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n))
    return y


CASES = [
    Case(
        "groupnorm",
        groupnorm,
        lambda x, groups, w, b: F.group_norm(x, groups, w, b),
        lambda make: [[make(2, 6, 5), 3, make(6), make(6)], [make(1, 4, 8), 2, make(4), make(4)]],
        data=FINITE,
    ),
    Case(
        "instancenorm",
        instancenorm,
        lambda x: F.instance_norm(x),
        lambda make: [[make(2, 3, 21)]],
        data=FINITE,
    ),
    Case(
        "batchnorm_eval",
        batchnorm_eval,
        lambda x, mean, var, w, b: F.batch_norm(x, mean, var, w, b),
        lambda make: [[make(2, 3, 11), make(3), make.uniform(3, low=0.5, high=2.0), make(3), make(3)]],
        data="given",
    ),
    Case(
        "batchnorm_stats",
        batchnorm_stats,
        lambda x: (x.mean((0, 2)), x.var((0, 2))),
        lambda make: [[make(3, 5, 7)], [make(2, 4, 8)]],
        data=FINITE,
    ),
    Case(
        "standardise",
        standardise,
        lambda x: (x - x.mean(0)) / (x.std(0) + 1e-3),
        lambda make: [[make(13, 7)]],
        data=FINITE,
    ),
    Case(
        "minmax",
        minmax,
        lambda x: (x - x.amin(-1, True)) / (x.amax(-1, True) - x.amin(-1, True) + 1e-3),
        lambda make: [
            [make(5, 21)],
            [make.uniform(3, 13, low=1.0, high=2.0)],
            [-make.uniform(3, 13, low=1.0, high=2.0)],
        ],
        data=FINITE,
    ),
]
