"""Calls of other jitted functions."""

import triton
import triton.language as tl


@triton.jit
def square(x):
    return x * x


@triton.jit
def divide(a, b):
    return a // b, a % b


@triton.jit
def clamp(x, LOW: tl.constexpr = 0, HIGH: tl.constexpr = 10):
    return tl.minimum(tl.maximum(x, LOW), HIGH)


@triton.jit
def sign(x):
    if x > 0:
        return 1
    elif x < 0:
        return -1
    else:
        return 0


@triton.jit
def apply(function: tl.constexpr, x):
    return function(function(x))


@triton.jit
def store_nothing(out, n):
    if n == 0:
        return
    tl.store(out, n)


@triton.jit
def square_kernel(out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, square(offsets) + square(n))


@triton.jit
def several_results_kernel(out, a, b):
    quotient, remainder = divide(a, b)
    tl.store(out, quotient)
    tl.store(out + 1, remainder)


@triton.jit
def defaults_kernel(out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, clamp(offsets - 4))
    tl.store(out + BLOCK + offsets, clamp(offsets, HIGH=3))
    tl.store(out + 2 * BLOCK + offsets, clamp(offsets, 2, 5))


@triton.jit
def sign_kernel(out, n):
    tl.store(out, sign(n))


@triton.jit
def function_argument_kernel(out, n):
    tl.store(out, apply(square, n))


@triton.jit
def early_return_kernel(out, n):
    store_nothing(out, n)
    tl.store(out + 1, 5)
