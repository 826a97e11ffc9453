"""Limits of dtypes and functions of constexprs, as libraries write them."""

import numpy as np
import triton
import triton.language as tl

LEAST = tl.constexpr(np.iinfo(np.int16).min)


@triton.jit
def limits_kernel(x, out, BLOCK: tl.constexpr):
    """Limits of the module, and of the kernel's own."""
    offsets = tl.arange(0, BLOCK)
    most: tl.constexpr = np.iinfo(np.int8).max
    tl.store(out + offsets, tl.minimum(tl.maximum(tl.load(x + offsets), LEAST), most))


@tl.constexpr
def twice(number):
    return 2 * number


@tl.constexpr
def all_ones(bits: tl.constexpr):
    return 2**bits - 1


@triton.jit
def decorated_kernel(x, out, N: tl.constexpr, BLOCK: tl.constexpr):
    """`tl.constexpr` as a decorator: a function that is called while the kernel is compiled."""
    offsets = tl.arange(0, BLOCK)
    mask: tl.constexpr = all_ones(N)
    values = tl.load(x + offsets) & mask
    if twice(N) > 7:
        values += twice(3)
    tl.store(out + offsets, values)
