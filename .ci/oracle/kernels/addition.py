"""Sums and products of vectors."""

import torch
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


def add(x, y):
    output = torch.empty_like(x)
    n_elements = output.numel()
    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)
    add_kernel[grid](x, y, output, n_elements, BLOCK_SIZE=128)
    return output


@triton.jit
def axpy_kernel(x_ptr, y_ptr, out_ptr, alpha, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    y = tl.load(y_ptr + offs, mask=mask).to(tl.float32)
    tl.store(out_ptr + offs, alpha * x + y, mask=mask)


def axpy(x, y, alpha):
    out = torch.empty_like(y)
    n = x.numel()
    axpy_kernel[(triton.cdiv(n, 64),)](x, y, out, alpha, n, BLOCK=64)
    return out


@triton.jit
def lerp_kernel(start, end, weight, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(start + offs, mask=mask)
    b = tl.load(end + offs, mask=mask)
    w = tl.load(weight + offs, mask=mask)
    tl.store(out + offs, a + w * (b - a), mask=mask)


def lerp(start, end, weight):
    out = torch.empty_like(start)
    n = out.numel()
    lerp_kernel[(triton.cdiv(n, 128),)](start, end, weight, out, n, BLOCK=128)
    return out


@triton.jit
def addcmul_kernel(x, a, b, out, value, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    r = tl.load(x + i, mask=m) + value * tl.load(a + i, mask=m) * tl.load(b + i, mask=m)
    tl.store(out + i, r, mask=m)


def addcmul(x, a, b, value):
    out = torch.empty_like(x)
    addcmul_kernel[(triton.cdiv(x.numel(), 64),)](x, a, b, out, value, x.numel(), BLOCK=64)
    return out


@triton.jit
def addcdiv_kernel(x, a, b, out, value, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    quotient = tl.load(a + i, mask=m) / tl.load(b + i, mask=m, other=1.0)
    tl.store(out + i, tl.load(x + i, mask=m) + value * quotient, mask=m)


def addcdiv(x, a, b, value):
    out = torch.empty_like(x)
    addcdiv_kernel[(triton.cdiv(x.numel(), 64),)](x, a, b, out, value, x.numel(), BLOCK=64)
    return out


@triton.jit
def row_bias_kernel(x_ptr, bias_ptr, out_ptr, n_rows, n_cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    where = rows[:, None] * n_cols + cols[None, :]
    x = tl.load(x_ptr + where, mask=mask)
    bias = tl.load(bias_ptr + cols, mask=cols < n_cols)
    tl.store(out_ptr + where, x + bias[None, :], mask=mask)


def row_bias(x, bias):
    out = torch.empty_like(x)
    m, n = x.shape
    row_bias_kernel[(triton.cdiv(m, 4), triton.cdiv(n, 16))](x, bias, out, m, n, BLOCK_M=4, BLOCK_N=16)
    return out


CASES = [
    Case(
        "add",
        add,
        lambda x, y: x + y,
        lambda make: [
            [make(1000), make(1000)],
            [make(3, 29, dtype=torch.float16), make(3, 29, dtype=torch.float16)],
            [make(128, dtype=torch.bfloat16), make(128, dtype=torch.bfloat16)],
        ],
    ),
    Case(
        "axpy",
        axpy,
        lambda x, y, alpha: alpha * x + y,
        lambda make: [
            [make(200), make(200), 0.75],
            [make(65, dtype=torch.float16), make(65, dtype=torch.float16), -1.5],
        ],
    ),
    Case(
        "lerp", lerp, torch.lerp, lambda make: [[make(7, 31), make(7, 31), make.uniform(7, 31)]], data=FINITE
    ),
    Case(
        "addcmul",
        addcmul,
        lambda x, a, b, value: torch.addcmul(x, a, b, value=value),
        lambda make: [[make(99), make(99), make(99), 0.5]],
    ),
    Case(
        "addcdiv",
        addcdiv,
        lambda x, a, b, value: torch.addcdiv(x, a, b, value=value),
        lambda make: [[make(99), make(99), make.uniform(99, low=0.5, high=2.0), 0.25]],
        data="given",
    ),
    Case(
        "row_bias",
        row_bias,
        lambda x, bias: x + bias,
        lambda make: [
            [make(5, 33), make(33)],
            [make(8, 16, dtype=torch.float16), make(16, dtype=torch.float16)],
        ],
    ),
]
