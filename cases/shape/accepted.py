"""Operations that take less than the interpreter gives them."""

import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x, out):
    i = tl.arange(0, 8)
    v = tl.reshape(tl.load(x + i), (2, 2, 2))
    tl.store(out + i, tl.reshape(v.T, (8,)))


@triton.jit
def fraction_kernel(out):
    tl.store(out + tl.arange(0, 4), tl.full((4,), 2.5, tl.int32))
