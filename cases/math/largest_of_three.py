"""The largest or the smallest of three numbers. Two of them are a number and its negation, but in the last kernel."""

import triton
import triton.language as tl


@triton.jit
def magnitude_kernel(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.maximum(tl.abs(tl.load(x + i)), tl.load(y + i)))


@triton.jit
def largest_kernel(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, tl.maximum(tl.maximum(a, -a), tl.load(y + i)))


@triton.jit
def smallest_kernel(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, tl.minimum(tl.minimum(a, -a), tl.load(y + i)))


@triton.jit
def unrelated_kernel(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, tl.maximum(tl.maximum(a, a ^ 0x55), tl.load(y + i)))
