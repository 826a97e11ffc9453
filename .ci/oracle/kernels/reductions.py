"""Reductions over each axis."""

import torch
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def sum_rows_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    tl.store(y_ptr + row, tl.sum(x.to(tl.float32), axis=0))


def sum_rows(x):
    rows, cols = x.shape
    y = torch.empty(rows, dtype=x.dtype, device=x.device)
    sum_rows_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def sum_columns_kernel(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros([BN], tl.float32)
    for start in range(0, M, BM):
        rows = start + tl.arange(0, BM)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        acc += tl.sum(tl.load(x_ptr + rows[:, None] * N + cols[None, :], mask=mask, other=0.0), axis=0)
    tl.store(y_ptr + cols, acc, mask=cols < N)


def sum_columns(x):
    m, n = x.shape
    y = torch.empty(n, dtype=x.dtype, device=x.device)
    sum_columns_kernel[(triton.cdiv(n, 8),)](x, y, m, n, BM=4, BN=8)
    return y


@triton.jit
def mean_middle_kernel(x_ptr, y_ptr, A, B, C, BB: tl.constexpr, BC: tl.constexpr):
    a = tl.program_id(0)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    b = tl.arange(0, BB)
    mask = (b[:, None] < B) & (c[None, :] < C)
    x = tl.load(x_ptr + a * B * C + b[:, None] * C + c[None, :], mask=mask, other=0.0)
    tl.store(y_ptr + a * C + c, tl.sum(x, axis=0) / B, mask=c < C)


def mean_middle(x):
    a, b, c = x.shape
    y = torch.empty((a, c), dtype=x.dtype, device=x.device)
    mean_middle_kernel[(a, triton.cdiv(c, 8))](x, y, a, b, c, BB=triton.next_power_of_2(b), BC=8)
    return y


@triton.jit
def amax_kernel(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    best = tl.full([BM], -float("inf"), tl.float32)
    for start in range(0, N, BN):
        cols = start + tl.arange(0, BN)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        x = tl.load(x_ptr + rows[:, None] * N + cols[None, :], mask=mask, other=-float("inf"))
        best = tl.maximum(best, tl.max(x, axis=1))
    tl.store(y_ptr + rows, best, mask=rows < M)


def amax(x):
    m, n = x.shape
    y = torch.empty(m, dtype=x.dtype, device=x.device)
    amax_kernel[(triton.cdiv(m, 4),)](x, y, m, n, BM=4, BN=8)
    return y


@triton.jit
def amin_columns_kernel(x_ptr, y_ptr, M, N, BM: tl.constexpr):
    col = tl.program_id(0)
    rows = tl.arange(0, BM)
    x = tl.load(x_ptr + rows * N + col, mask=rows < M, other=float("inf"))
    tl.store(y_ptr + col, tl.min(x, axis=0))


def amin_columns(x):
    m, n = x.shape
    y = torch.empty(n, dtype=x.dtype, device=x.device)
    amin_columns_kernel[(n,)](x, y, m, n, BM=triton.next_power_of_2(m))
    return y


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def prod_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=1.0)
    tl.store(y_ptr + row, tl.reduce(x, 0, multiply))


def prod(x):
    rows, cols = x.shape
    y = torch.empty(rows, dtype=x.dtype, device=x.device)
    prod_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def any_kernel(x_ptr, y_ptr, threshold, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    hit = ((x > threshold) & mask).to(tl.int32)
    tl.store(y_ptr + row, tl.max(hit, axis=0))


def any_above(x, threshold):
    rows, cols = x.shape
    y = torch.empty(rows, dtype=torch.int32, device=x.device)
    any_kernel[(rows,)](x, y, threshold, cols, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def count_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0)
    tl.store(y_ptr + row, tl.sum((x != 0).to(tl.int32), axis=0))


def count_nonzero(x):
    rows, cols = x.shape
    y = torch.empty(rows, dtype=torch.int32, device=x.device)
    count_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def logsumexp_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=0)
    tl.store(y_ptr + row, tl.log(tl.sum(tl.exp(x - m), axis=0)) + m)


def logsumexp(x):
    rows, cols = x.shape
    y = torch.empty(rows, dtype=torch.float32, device=x.device)
    logsumexp_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def norm_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)
        acc += x * x
    tl.store(y_ptr, tl.sqrt(tl.sum(acc, axis=0)))


def norm(x):
    y = torch.empty((), dtype=torch.float32, device=x.device)
    norm_kernel[(1,)](x, y, x.numel(), BLOCK=32)
    return y


@triton.jit
def clip_norm_kernel(x_ptr, y_ptr, max_norm, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    total = tl.sqrt(tl.sum(x * x, axis=0))
    factor = tl.minimum(max_norm / (total + 1e-6), 1.0)
    tl.store(y_ptr + offs, x * factor, mask=offs < n)


def clip_norm(x, max_norm):
    y = torch.empty_like(x)
    n = x.numel()
    clip_norm_kernel[(1,)](x, y, max_norm, n, BLOCK=triton.next_power_of_2(n))
    return y


@triton.jit
def trace_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * n + i, mask=i < n, other=0.0)
    tl.store(y_ptr, tl.sum(x, axis=0))


def trace(x):
    y = torch.empty((), dtype=x.dtype, device=x.device)
    n = x.shape[0]
    trace_kernel[(1,)](x, y, n, BLOCK=triton.next_power_of_2(n))
    return y


@triton.jit
def segment_mean_kernel(x_ptr, starts_ptr, y_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    start = tl.load(starts_ptr + pid)
    end = tl.load(starts_ptr + pid + 1)
    acc = tl.zeros([BLOCK], tl.float32)
    for first in range(start, end, BLOCK):
        offs = first + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + offs, mask=offs < end, other=0.0)
    tl.store(y_ptr + pid, tl.sum(acc, axis=0) / (end - start))


def segment_mean(x, starts):
    n = starts.numel() - 1
    y = torch.empty(n, dtype=x.dtype, device=x.device)
    segment_mean_kernel[(n,)](x, starts, y, BLOCK=8)
    return y


def segment_mean_reference(x, starts):
    s = starts.tolist()
    return torch.stack([x[a:b].mean() for a, b in zip(s, s[1:])])


CASES = [
    Case(
        "sum_rows",
        sum_rows,
        lambda x: x.sum(-1),
        lambda make: [[make(5, 29)], [make(3, 64, dtype=torch.float16)], [make(3, 50, dtype=torch.bfloat16)]],
    ),
    Case("sum_columns", sum_columns, lambda x: x.sum(0), lambda make: [[make(13, 21)], [make(8, 8)]]),
    Case("mean_middle", mean_middle, lambda x: x.mean(1), lambda make: [[make(2, 7, 13)]]),
    Case(
        "amax", amax, lambda x: x.amax(-1), lambda make: [[make(7, 21)], [-make.uniform(3, 13)]], data=FINITE
    ),
    Case(
        "amin_columns",
        amin_columns,
        lambda x: x.amin(0),
        lambda make: [[make(13, 5)], [make.uniform(5, 3)]],
        data=FINITE,
    ),
    Case("prod", prod, lambda x: x.prod(-1), lambda make: [[make.uniform(5, 13, low=0.5, high=1.5)]]),
    Case("any_above", any_above, lambda x, t: (x > t).any(-1), lambda make: [[make(9, 5), 1.0]]),
    Case(
        "count_nonzero",
        count_nonzero,
        lambda x: (x != 0).sum(-1),
        lambda make: [[make.ints(5, 29, low=-1, high=2)]],
    ),
    Case("logsumexp", logsumexp, lambda x: torch.logsumexp(x, -1), lambda make: [[make(5, 29)]], data=FINITE),
    Case("norm", norm, lambda x: x.norm(), lambda make: [[make(99)], [make(64, dtype=torch.float16)]]),
    Case(
        "clip_norm",
        clip_norm,
        lambda x, m: x * (m / (x.norm() + 1e-6)).clamp(max=1),
        lambda make: [[make(29), 1.0], [make(16, scale=0.01), 1.0]],
        data=FINITE,
    ),
    Case("trace", trace, torch.trace, lambda make: [[make(13, 13)]]),
    Case(
        "segment_mean",
        segment_mean,
        segment_mean_reference,
        lambda make: [[make(40), torch.tensor([0, 3, 20, 21, 40], dtype=torch.int32)]],
    ),
]
