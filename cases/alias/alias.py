"""Kernels whose parameters may be the same memory."""

import triton
import triton.language as tl


@triton.jit
def store_first_kernel(a, b):
    tl.store(a, 1)


@triton.jit
def increment_first_kernel(a, b, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(a + offsets, tl.load(b + offsets, mask=mask) + 1, mask=mask)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask)
    tl.store(out + offsets, total, mask=mask)


@triton.jit
def copy_kernel(src, dst, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(dst + offsets, tl.load(src + offsets, mask=mask), mask=mask)


@triton.jit
def write_both_kernel(a, b, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(a + offsets, offsets, mask=mask)
    tl.store(b + offsets, offsets + 100, mask=mask)


@triton.jit
def unused_kernel(a, b, c, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(b + offsets, tl.load(b + offsets, mask=mask) * 2, mask=mask)
