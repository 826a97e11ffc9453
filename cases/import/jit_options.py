"""Kernels whose decorator has options."""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n"])
def scale_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) * 2, mask=mask)


@triton.jit(noinline=True)
def double(value):
    return value * 2


@triton.jit
def call_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) * double(tl.program_id(0) + 1), mask=mask)
