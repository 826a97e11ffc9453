"""The least and the largest of three integers, one of them negated."""

import triton
import triton.language as tl


@triton.jit
def least_kernel(x, y, z, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.minimum(tl.load(x + at), tl.minimum(tl.load(y + at), -tl.load(z + at))))


@triton.jit
def largest_kernel(x, y, z, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.maximum(tl.maximum(tl.load(x + at), tl.load(y + at)), tl.abs(tl.load(z + at))))
