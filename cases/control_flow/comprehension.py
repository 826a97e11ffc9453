"""Tuples: made by comprehensions, passed on, taken apart."""

import triton
import triton.language as tl


@triton.jit
def first_and_rest(first, *rest):
    total = first
    for k in tl.static_range(len(rest)):
        total += rest[k]
    return total


@triton.jit
def keywords(a, *, scale: tl.constexpr = 2, shift=1):
    return a * scale + shift


@triton.jit
def variadic_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, first_and_rest(v, v, v))


@triton.jit
def keywords_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, keywords(v) + keywords(v, scale=3) + keywords(v, shift=4))


@triton.jit
def nested_tuple_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    pair = ((tl.load(x + i), i), 3)
    (value, at), step = pair
    tl.store(out + at, value * step)


@triton.jit
def loop_tuple_kernel(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    state = (tl.load(x + i), tl.load(x + i))
    for _ in range(n):
        state = (state[1], state[0] + state[1])
    tl.store(out + i, state[0])


@triton.jit
def ternary_types_kernel(x, out, WIDE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    DTYPE: tl.constexpr = tl.float64 if WIDE else tl.float32
    tl.store(out + i, tl.load(x + i).to(DTYPE) / 3)
