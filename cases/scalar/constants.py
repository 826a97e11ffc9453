"""Kernels in which a compile-time value meets a block or a scalar of the program."""

import triton
import triton.language as tl


@triton.jit
def cast_kernel(x, out):
    tl.store(out, (tl.load(x + 3) * 10).to(tl.int32))


@triton.jit
def mask_kernel(x, out):
    tl.store(out, tl.load(x + 3, mask=True).to(tl.int32))


@triton.jit
def and_kernel(x, out):
    offsets = tl.arange(0, 4)
    values = tl.load(x + offsets)
    tl.store(out + offsets, values.to(tl.int32), mask=(values > 1.0) & True)


@triton.jit
def one_kernel(x, out):
    tl.store(out, 1)
