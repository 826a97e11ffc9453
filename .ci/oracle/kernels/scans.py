"""Scans along rows and over blocks."""

import torch
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def cumsum_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0)
    tl.store(y_ptr + row * n_cols + cols, tl.cumsum(x, axis=0), mask=mask)


def cumsum(x):
    y = torch.empty_like(x)
    rows, cols = x.shape
    cumsum_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def cumsum_carry_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    carry = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * n_cols + cols, tl.cumsum(x, axis=0) + carry, mask=mask)
        carry += tl.sum(x, axis=0)


def cumsum_carry(x):
    y = torch.empty_like(x)
    rows, cols = x.shape
    cumsum_carry_kernel[(rows,)](x, y, cols, BLOCK=8)
    return y


@triton.jit
def cumsum_exclusive_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0)
    tl.store(y_ptr + row * n_cols + cols, tl.cumsum(x, axis=0) - x, mask=mask)


def cumsum_exclusive(x):
    y = torch.empty_like(x)
    rows, cols = x.shape
    cumsum_exclusive_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def cumsum_reverse_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    tl.store(y_ptr + row * n_cols + cols, tl.cumsum(x, axis=0, reverse=True), mask=mask)


def cumsum_reverse(x):
    y = torch.empty_like(x)
    rows, cols = x.shape
    cumsum_reverse_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def cumprod_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=1.0)
    tl.store(y_ptr + row * n_cols + cols, tl.cumprod(x, axis=0), mask=mask)


def cumprod(x):
    y = torch.empty_like(x)
    rows, cols = x.shape
    cumprod_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def take_larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def cummax_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=-float("inf"))
    y = tl.associative_scan(x, 0, take_larger)
    tl.store(y_ptr + row * n_cols + cols, y, mask=mask)


def cummax(x):
    y = torch.empty_like(x)
    rows, cols = x.shape
    cummax_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def compose(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def recurrence_kernel(a_ptr, b_ptr, h_ptr, n, BLOCK: tl.constexpr):
    """`h[t] = a[t] * h[t - 1] + b[t]`, as a scan of pairs."""
    row = tl.program_id(0)
    t = tl.arange(0, BLOCK)
    mask = t < n
    a = tl.load(a_ptr + row * n + t, mask=mask, other=1.0)
    b = tl.load(b_ptr + row * n + t, mask=mask, other=0.0)
    _, h = tl.associative_scan((a, b), 0, compose)
    tl.store(h_ptr + row * n + t, h, mask=mask)


def recurrence(a, b):
    h = torch.empty_like(b)
    rows, n = a.shape
    recurrence_kernel[(rows,)](a, b, h, n, BLOCK=triton.next_power_of_2(n))
    return h


def recurrence_reference(a, b):
    h, out = torch.zeros_like(b[:, 0]), []
    for t in range(a.shape[1]):
        h = a[:, t] * h + b[:, t]
        out.append(h)
    return torch.stack(out, 1)


@triton.jit
def ema_kernel(x_ptr, y_ptr, decay, length, width, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < width
    state = tl.zeros([BLOCK], tl.float32)
    for t in range(length):
        x = tl.load(x_ptr + t * width + cols, mask=mask, other=0.0)
        state = decay * state + (1.0 - decay) * x
        tl.store(y_ptr + t * width + cols, state, mask=mask)


def ema(x, decay):
    y = torch.empty_like(x)
    length, width = x.shape
    ema_kernel[(triton.cdiv(width, 8),)](x, y, decay, length, width, BLOCK=8)
    return y


def ema_reference(x, decay):
    return recurrence_reference(torch.full_like(x.t(), decay), (1 - decay) * x.t()).t()


@triton.jit
def block_sums_kernel(x_ptr, sums_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(sums_ptr + pid, tl.sum(tl.load(x_ptr + offs, mask=offs < n, other=0), axis=0))


@triton.jit
def add_offsets_kernel(x_ptr, sums_ptr, y_ptr, n, BLOCK: tl.constexpr, PAD: tl.constexpr):
    pid = tl.program_id(0)
    before = tl.arange(0, PAD)
    offset = tl.sum(tl.load(sums_ptr + before, mask=before < pid, other=0), axis=0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0)
    tl.store(y_ptr + offs, tl.cumsum(x, axis=0) + offset, mask=offs < n)


def cumsum_two_pass(x):
    n = x.numel()
    blocks = triton.cdiv(n, 16)
    y = torch.empty_like(x)
    sums = torch.empty(blocks, dtype=x.dtype, device=x.device)
    block_sums_kernel[(blocks,)](x, sums, n, BLOCK=16)
    add_offsets_kernel[(blocks,)](x, sums, y, n, BLOCK=16, PAD=triton.next_power_of_2(blocks))
    return y


CASES = [
    Case(
        "cumsum",
        cumsum,
        lambda x: x.cumsum(-1),
        lambda make: [[make(3, 29)], [make.ints(2, 32, low=-50, high=50)]],
    ),
    Case("cumsum_carry", cumsum_carry, lambda x: x.cumsum(-1), lambda make: [[make(3, 29)], [make(2, 16)]]),
    Case("cumsum_exclusive", cumsum_exclusive, lambda x: x.cumsum(-1) - x, lambda make: [[make(3, 29)]]),
    Case(
        "cumsum_reverse",
        cumsum_reverse,
        lambda x: x.flip(-1).cumsum(-1).flip(-1),
        lambda make: [[make(3, 29)]],
    ),
    Case(
        "cumprod",
        cumprod,
        lambda x: x.cumprod(-1),
        lambda make: [[make.uniform(3, 13, low=0.5, high=1.5)]],
        data=FINITE,
    ),
    Case("cummax", cummax, lambda x: x.cummax(-1).values, lambda make: [[make(3, 29)]], data=FINITE),
    Case(
        "recurrence",
        recurrence,
        recurrence_reference,
        lambda make: [[make.uniform(3, 13), make(3, 13)]],
        data="given",
    ),
    Case("ema", ema, ema_reference, lambda make: [[make(7, 13), 0.9]]),
    Case(
        "cumsum_two_pass",
        cumsum_two_pass,
        lambda x: x.cumsum(0),
        lambda make: [[make(70)], [make.ints(64, low=-9, high=9)]],
    ),
]
