"""Kernels of arithmetic whose results are known without Cerith: see `results.py`, which computes them."""

import triton
import triton.language as tl


@triton.jit
def cast(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty))


@triton.jit
def truth(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(tl.int1).to(tl.int8))


@triton.jit
def integers(x, y, shift, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    s = tl.load(shift + i)
    tl.store(out + i, a + b)
    tl.store(out + N + i, a - b)
    tl.store(out + 2 * N + i, a * b)
    tl.store(out + 3 * N + i, a // b)
    tl.store(out + 4 * N + i, a % b)
    tl.store(out + 5 * N + i, a >> s)
    tl.store(out + 6 * N + i, a << s)
    tl.store(out + 7 * N + i, (a & b) ^ (a | b))
    tl.store(out + 8 * N + i, tl.where(a < b, a, b))
    tl.store(out + 9 * N + i, tl.maximum(a, b))


@triton.jit
def high(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.umulhi(tl.load(x + i), tl.load(y + i)))


@triton.jit
def floats(x, y, z, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    c = tl.load(z + i)
    tl.store(out + i, a + b)
    tl.store(out + N + i, a - b)
    tl.store(out + 2 * N + i, a * b)
    tl.store(out + 3 * N + i, tl.fma(a, b, c))
    tl.store(out + 4 * N + i, tl.where(a <= b, a, b))
    tl.store(out + 5 * N + i, tl.maximum(a, b))
    tl.store(out + 6 * N + i, tl.abs(-a))


@triton.jit
def rounded(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    tl.store(out + i, tl.div_rn(a, b))
    tl.store(out + N + i, tl.sqrt_rn(tl.abs(a)))
    tl.store(out + 2 * N + i, tl.floor(a))
    tl.store(out + 3 * N + i, tl.ceil(a))


@triton.jit
def not_numbers(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, tl.minimum(a, 2.0))
    tl.store(out + N + i, tl.maximum(a, 2.0))
    tl.store(out + 2 * N + i, tl.minimum(a, 2.0, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 3 * N + i, tl.maximum(a, 2.0, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 4 * N + i, tl.clamp(a, -1.0, 2.0))
    tl.store(out + 5 * N + i, tl.where(a == a, 1.0, 0.0))  # noqa: PLR0124 (false of a NaN)
