"""Kernels with one fault each, which shows only if launches are compared, or one access with the others."""
import torch
import triton
import triton.language as tl


@triton.jit
def moved_load(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at + 1, mask=at < n, other=0.0), mask=at < n)


@triton.jit
def moved_store(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * stride + tl.arange(0, BLOCK)
    keep = tl.arange(0, BLOCK) < n
    out = tl.load(out_ptr + at, mask=keep, other=0.0)
    tl.store(out_ptr + at + 1, out + tl.load(x_ptr + at, mask=keep, other=0.0), mask=keep)


@triton.jit
def other_axis(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)


@triton.jit
def lost_offset(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)


@triton.jit
def whole_blocks(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(0, n // BLOCK * BLOCK, BLOCK):
        at = first + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * stride + at, mask=at < n, other=0.0)
    tl.store(out_ptr + row, tl.sum(total, axis=0))


@triton.jit
def mean_by_stride(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + at, mask=at < n, other=0.0)
    tl.store(out_ptr + row, tl.sum(x, axis=0) / stride)


@triton.jit
def masked_variance(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + at, mask=at < n, other=0.0)
    apart = x - tl.sum(x, axis=0) / n
    tl.store(out_ptr + row, tl.sum(apart * apart, axis=0) / n)


def compute_variance(x):
    rows, n = x.shape
    out = torch.empty((rows,), dtype=torch.float32, device=x.device)
    masked_variance[(rows,)](x, out, n, x.stride(0), BLOCK=128)
    return out


@triton.jit
def short_grid(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)


def copy(x):
    out = torch.empty_like(x)
    n = x.numel()
    short_grid[(n // 64,)](x, out, n, BLOCK=64)
    return out
