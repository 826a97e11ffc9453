"""Extrema of zeros of both signs: kernels whose results are given in their case files."""

import triton
import triton.language as tl


@triton.jit
def extrema(x, y, low, high, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    tl.store(low + i, tl.minimum(a, b))
    tl.store(high + i, tl.maximum(a, b))
