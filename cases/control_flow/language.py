"""Parts of the language that few kernels use."""

import triton
import triton.language as tl


@triton.constexpr_function
def halved(n):
    return n // 2


@triton.jit
def constexpr_function_kernel(x, out, N: tl.constexpr):
    HALF: tl.constexpr = halved(N)
    i = tl.arange(0, HALF)
    tl.store(out + i, tl.load(x + HALF + i))
