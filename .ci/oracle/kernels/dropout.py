"""Dropout with masks that the caller provides, and fused forms."""

import torch
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def dropout_kernel(x_ptr, keep_ptr, out_ptr, p, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    keep = tl.load(keep_ptr + offs, mask=mask, other=0)
    tl.store(out_ptr + offs, tl.where(keep != 0, x / (1 - p), 0.0), mask=mask)


def dropout(x, keep, p):
    out = torch.empty_like(x)
    n = x.numel()
    dropout_kernel[(triton.cdiv(n, 32),)](x, keep, out, p, n, BLOCK=32)
    return out


@triton.jit
def dropout_residual_kernel(x_ptr, res_ptr, keep_ptr, out_ptr, scale, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    residual = tl.load(res_ptr + offs, mask=mask).to(tl.float32)
    keep = tl.load(keep_ptr + offs, mask=mask, other=0)
    dropped = tl.where(keep > 0, x * scale, 0.0)
    tl.store(out_ptr + offs, dropped + residual, mask=mask)


def dropout_residual(x, residual, keep, scale):
    out = torch.empty_like(x)
    n = x.numel()
    dropout_residual_kernel[(triton.cdiv(n, 32),)](x, residual, keep, out, scale, n, BLOCK=32)
    return out


@triton.jit
def bias_dropout_add_kernel(x_ptr, bias_ptr, res_ptr, keep_ptr, out_ptr, scale, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < width
    where = row * width + cols
    h = tl.load(x_ptr + where, mask=mask) + tl.load(bias_ptr + cols, mask=mask)
    keep = tl.load(keep_ptr + where, mask=mask, other=0).to(tl.float32)
    tl.store(out_ptr + where, tl.load(res_ptr + where, mask=mask) + h * keep * scale, mask=mask)


def bias_dropout_add(x, bias, residual, keep, scale):
    out = torch.empty_like(x)
    rows, width = x.shape
    bias_dropout_add_kernel[(rows,)](
        x, bias, residual, keep, out, scale, width, BLOCK=triton.next_power_of_2(width)
    )
    return out


@triton.jit
def add_scaled_kernel(x_ptr, residual_ptr, gamma_ptr, out_ptr, width, BLOCK: tl.constexpr):
    """Layer scale: `residual + gamma * x`, with a `gamma` for each column."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < width
    x = tl.load(x_ptr + row * width + cols, mask=mask)
    r = tl.load(residual_ptr + row * width + cols, mask=mask)
    gamma = tl.load(gamma_ptr + cols, mask=mask)
    tl.store(out_ptr + row * width + cols, r + gamma * x, mask=mask)


def add_scaled(x, residual, gamma):
    out = torch.empty_like(x)
    rows, width = x.shape
    add_scaled_kernel[(rows,)](x, residual, gamma, out, width, BLOCK=triton.next_power_of_2(width))
    return out


CASES = [
    Case(
        "dropout",
        dropout,
        lambda x, keep, p: torch.where(keep != 0, x / (1 - p), 0.0),
        lambda make: [[make(99), make.ints(99, high=2), 0.25]],
        data=FINITE,
    ),
    Case(
        "dropout_residual",
        dropout_residual,
        lambda x, r, keep, scale: r + torch.where(keep > 0, x * scale, 0.0),
        lambda make: [
            [make(99), make(99), make.ints(99, high=2), 2.0],
            [make(64, dtype=torch.float16), make(64, dtype=torch.float16), make.ints(64, high=2), 1.25],
        ],
        data=FINITE,
    ),
    Case(
        "bias_dropout_add",
        bias_dropout_add,
        lambda x, b, r, keep, scale: r + (x + b) * keep * scale,
        lambda make: [[make(5, 13), make(13), make(5, 13), make.ints(5, 13, high=2), 1.5]],
    ),
    Case(
        "add_scaled",
        add_scaled,
        lambda x, r, gamma: r + gamma * x,
        lambda make: [[make(5, 13), make(5, 13), make(13)]],
    ),
]
