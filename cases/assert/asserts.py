"""Assertions and assumptions about loaded values."""

import triton
import triton.language as tl


@triton.jit
def plain_assert_kernel(x, out):
    value = tl.load(x)
    tl.device_assert(value > 0, "positive")
    tl.store(out, value)


@triton.jit(debug=True)
def debug_assert_kernel(x, out):
    value = tl.load(x)
    tl.device_assert(value > 0, "positive")
    tl.store(out, value)


@triton.jit
def assume_kernel(x, out):
    value = tl.load(x)
    tl.assume(value > 0)
    tl.store(out, value)
