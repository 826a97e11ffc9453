"""Kernels whose text Triton's interpreter cannot see."""

import triton
import triton.language as tl


@triton.jit
def rewritten(x):
    v = 1
    tl.store(x, v.to(tl.int32))


@triton.jit
def fails_later(x):
    tl.store(x, 2)
    tl.store(x, x.nothing)
