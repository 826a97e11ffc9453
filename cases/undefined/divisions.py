"""Integer divisions that have no answer in some lanes, and the use of those lanes."""

import triton
import triton.language as tl


@triton.jit
def quotient(x, y, out, n):
    i = tl.arange(0, 16)
    m = i < n
    a, b = tl.load(x + i, mask=m), tl.load(y + i, mask=m)
    tl.store(out + i, a // b, mask=m)


@triton.jit
def quotient_of_zeros(x, y, out, n):
    i = tl.arange(0, 16)
    m = i < n
    a, b = tl.load(x + i, mask=m, other=0), tl.load(y + i, mask=m, other=0)
    tl.store(out + i, a // b, mask=m)


@triton.jit
def remainder(x, y, out, n):
    i = tl.arange(0, 16)
    b = tl.load(y + i, mask=i < n, other=0)
    tl.store(out + i, i.to(y.dtype.element_ty) % b, mask=i < n)


@triton.jit
def rounded_up(x, y, out, n):
    i = tl.arange(0, 16)
    m = i < n
    a, b = tl.load(x + i, mask=m, other=0), tl.load(y + i, mask=m, other=0)
    tl.store(out + i, tl.cdiv(a, b), mask=m)


@triton.jit
def floor_of_inductor(x, y, out, n):
    i = tl.arange(0, 16)
    m = i < n
    a, b = tl.load(x + i, mask=m), tl.load(y + i, mask=m)
    q = tl.where((a < 0) != (b < 0), tl.where(a % b != 0, a // b - 1, a // b), a // b)
    tl.store(out + i, q, mask=m)


@triton.jit
def sum_of_quotients(x, y, out, n):
    i = tl.arange(0, 16)
    m = i < n
    a, b = tl.load(x + i, mask=m, other=0), tl.load(y + i, mask=m, other=0)
    tl.store(out, tl.sum(tl.where(m, a // b, 0), 0).to(out.dtype.element_ty))


@triton.jit
def where_on_the_divisor(x, y, out, n):
    i = tl.arange(0, 16)
    a, b = tl.load(x + i), tl.load(y + i, mask=i < n, other=0)
    tl.store(out + i, tl.where(b != 0, a // b, 7))


@triton.jit
def one_lane_too_many(x, y, out, n):
    i = tl.arange(0, 16)
    m = i < n
    a, b = tl.load(x + i, mask=m, other=0), tl.load(y + i, mask=m, other=0)
    tl.store(out + i, a // b, mask=i < n + 1)
