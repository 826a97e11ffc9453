"""Unsigned offsets in the middle of a tensor, so that a negative one would stay inside."""

import triton
import triton.language as tl


@triton.jit
def from_the_middle_kernel(x, index, out, MIDDLE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load((x + MIDDLE) + tl.load(index + i)))
