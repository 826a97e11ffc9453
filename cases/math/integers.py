"""Functions of floats on integers."""

import triton
import triton.language as tl


@triton.jit
def fma_kernel(x, out):
    i = tl.arange(0, 8)
    v = tl.load(x + i)
    tl.store(out + i, tl.fma(v, v, v))
