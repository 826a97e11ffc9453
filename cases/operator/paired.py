"""Remainders of small numbers, which compilers work out in 16 bits, two at a time."""

import triton
import triton.language as tl


@triton.jit
def remainder_kernel(out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, i % ((i & 31) + 1))


@triton.jit
def mixed_kernel(out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    a = i
    b = i
    for _ in tl.static_range(3):
        a = b + a
        b = tl.minimum(a // ((n & 15) + 1), b % ((b & 31) + 1)) | b
    tl.store(out + i, b)
