"""Softmax over rows and columns, in one block or in a loop."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def softmax_kernel(
    output_ptr, input_ptr, input_row_stride, output_row_stride, n_cols, BLOCK_SIZE: tl.constexpr
):
    row_idx = tl.program_id(0)
    row_start_ptr = input_ptr + row_idx * input_row_stride
    col_offsets = tl.arange(0, BLOCK_SIZE)
    mask = col_offsets < n_cols
    row = tl.load(row_start_ptr + col_offsets, mask=mask, other=-float("inf")).to(tl.float32)
    row_minus_max = row - tl.max(row, axis=0)
    numerator = tl.exp(row_minus_max)
    denominator = tl.sum(numerator, axis=0)
    softmax_output = numerator / denominator
    tl.store(output_ptr + row_idx * output_row_stride + col_offsets, softmax_output, mask=mask)


def softmax(x):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    softmax_kernel[(n_rows,)](
        y, x, x.stride(0), y.stride(0), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols)
    )
    return y


@triton.jit
def softmax_looped_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * n_cols
    y_ptr += row * n_cols
    biggest = tl.full([BLOCK], -float("inf"), tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        biggest = tl.maximum(biggest, x)
    row_max = tl.max(biggest, axis=0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        total += tl.exp(x - row_max)
    row_sum = tl.sum(total, axis=0)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
        tl.store(y_ptr + cols, tl.exp(x - row_max) / row_sum, mask=cols < n_cols)


def softmax_looped(x):
    y = torch.empty_like(x)
    rows, cols = x.shape
    softmax_looped_kernel[(rows,)](x, y, cols, BLOCK=16)
    return y


@triton.jit
def softmax_online_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * n_cols
    y_ptr += row * n_cols
    m = -float("inf")
    d = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        new_m = tl.maximum(m, tl.max(x, axis=0))
        d = d * tl.exp(m - new_m) + tl.sum(tl.exp(x - new_m), axis=0)
        m = new_m
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
        tl.store(y_ptr + cols, tl.exp(x - m) / d, mask=cols < n_cols)


def softmax_online(x):
    y = torch.empty_like(x)
    rows, cols = x.shape
    softmax_online_kernel[(rows,)](x, y, cols, BLOCK=16)
    return y


@triton.jit
def log_softmax_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=-float("inf")).to(tl.float32)
    x = x - tl.max(x, axis=0)
    log_sum = tl.log(tl.sum(tl.exp(x), axis=0))
    tl.store(y_ptr + row * n_cols + cols, x - log_sum, mask=mask)


def log_softmax(x):
    y = torch.empty_like(x)
    rows, cols = x.shape
    log_softmax_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def softmax_backward_kernel(dy_ptr, y_ptr, dx_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    dy = tl.load(dy_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    dot = tl.sum(dy * y, axis=0)
    tl.store(dx_ptr + row * n_cols + cols, y * (dy - dot), mask=mask)


def softmax_backward(dy, y):
    dx = torch.empty_like(y)
    rows, cols = y.shape
    softmax_backward_kernel[(rows,)](dy, y, dx, cols, BLOCK=triton.next_power_of_2(cols))
    return dx


@triton.jit
def log_softmax_backward_kernel(dy_ptr, y_ptr, dx_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    dy = tl.load(dy_ptr + row * n_cols + cols, mask=mask, other=0.0)
    y = tl.load(y_ptr + row * n_cols + cols, mask=mask, other=0.0)
    total = tl.sum(dy, axis=0)
    tl.store(dx_ptr + row * n_cols + cols, dy - tl.exp(y) * total, mask=mask)


def log_softmax_backward(dy, y):
    dx = torch.empty_like(y)
    rows, cols = y.shape
    log_softmax_backward_kernel[(rows,)](dy, y, dx, cols, BLOCK=triton.next_power_of_2(cols))
    return dx


@triton.jit
def softmax_columns_kernel(x_ptr, y_ptr, n_rows, n_cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.arange(0, BLOCK_M)
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    where = rows[:, None] * n_cols + cols[None, :]
    x = tl.load(x_ptr + where, mask=mask, other=-float("inf")).to(tl.float32)
    x = tl.where(cols[None, :] < n_cols, x, 0.0)
    top = tl.max(x, axis=0)
    e = tl.exp(x - top[None, :])
    e = tl.where(rows[:, None] < n_rows, e, 0.0)
    tl.store(y_ptr + where, e / tl.sum(e, axis=0)[None, :], mask=mask)


def softmax_columns(x):
    y = torch.empty_like(x)
    m, n = x.shape
    softmax_columns_kernel[(triton.cdiv(n, 8),)](x, y, m, n, BLOCK_M=triton.next_power_of_2(m), BLOCK_N=8)
    return y


@triton.jit
def masked_softmax_kernel(x_ptr, keep_ptr, y_ptr, scale, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=inside, other=0.0).to(tl.float32) * scale
    keep = tl.load(keep_ptr + row * n_cols + cols, mask=inside, other=0)
    x = tl.where(keep != 0, x, -1.0e9)
    x = tl.where(inside, x, -float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n_cols + cols, e / tl.sum(e, axis=0), mask=inside)


def masked_softmax(x, keep, scale):
    y = torch.empty_like(x)
    rows, cols = x.shape
    masked_softmax_kernel[(rows,)](x, keep, y, scale, cols, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def softmax_exp2_kernel(x_ptr, y_ptr, temperature, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    log2e = 1.4426950408889634
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=-float("inf")).to(tl.float32)
    x = x / temperature * log2e
    e = tl.exp2(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n_cols + cols, e / tl.sum(e, axis=0), mask=mask)


def softmax_exp2(x, temperature):
    y = torch.empty_like(x)
    rows, cols = x.shape
    softmax_exp2_kernel[(rows,)](x, y, temperature, cols, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def causal_softmax_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    batch = tl.program_id(1)
    cols = tl.arange(0, BLOCK)
    where = batch * n * n + row * n + cols
    x = tl.load(x_ptr + where, mask=cols <= row, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + where, e / tl.sum(e, axis=0), mask=cols < n)


def causal_softmax(x):
    y = torch.empty_like(x)
    batch, n, _ = x.shape
    causal_softmax_kernel[(n, batch)](x, y, n, BLOCK=triton.next_power_of_2(n))
    return y


def causal_softmax_reference(x):
    keep = torch.ones(x.shape[-2:], dtype=torch.bool).tril()
    return torch.softmax(x.masked_fill(~keep, -float("inf")), -1)


def rows(make):
    return [[make(3, 29)], [make(4, 64, dtype=torch.float16)], [make(2, 50, dtype=torch.bfloat16)]]


CASES = [
    Case("softmax", softmax, lambda x: torch.softmax(x, -1), rows),
    Case("softmax_looped", softmax_looped, lambda x: torch.softmax(x, -1), rows, data=FINITE),
    Case("softmax_online", softmax_online, lambda x: torch.softmax(x, -1), rows, data=FINITE),
    Case("log_softmax", log_softmax, lambda x: F.log_softmax(x, -1), rows),
    Case(
        "softmax_backward",
        softmax_backward,
        lambda dy, y: y * (dy - (dy * y).sum(-1, keepdim=True)),
        lambda make: [[make(3, 29), torch.softmax(make(3, 29), -1)]],
    ),
    Case(
        "log_softmax_backward",
        log_softmax_backward,
        lambda dy, y: dy - y.exp() * dy.sum(-1, keepdim=True),
        lambda make: [[make(3, 29), torch.log_softmax(make(3, 29), -1)]],
        data="given",
    ),
    Case(
        "softmax_columns",
        softmax_columns,
        lambda x: torch.softmax(x, 0),
        lambda make: [[make(13, 21)]],
        data=FINITE,
    ),
    Case(
        "masked_softmax",
        masked_softmax,
        lambda x, keep, scale: torch.softmax((x * scale).masked_fill(keep == 0, -1e9), -1),
        lambda make: [[make(5, 29), make.ints(5, 29, high=2), 0.125]],
        data="given",
    ),
    Case(
        "softmax_exp2",
        softmax_exp2,
        lambda x, temperature: torch.softmax(x / temperature, -1),
        lambda make: [[make(3, 29), 0.7], [make(2, 32, dtype=torch.float16), 2.0]],
    ),
    Case("causal_softmax", causal_softmax, causal_softmax_reference, lambda make: [[make(2, 13, 13)]]),
]
