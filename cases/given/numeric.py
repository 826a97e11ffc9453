"""Arithmetic and ranges whose results are given in their case files, worked out without Cerith."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def truth(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(tl.int1).to(tl.int32))


@triton.jit
def chosen(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.where(tl.load(x + i).to(tl.int1), i, -1))


@triton.jit
def range_from(out, START: tl.constexpr, END: tl.constexpr):
    tl.store(out + tl.arange(0, END - START), tl.arange(START, END))


@triton.jit
def range_of_places(x, out, START: tl.constexpr, END: tl.constexpr):
    i = tl.arange(START, END)
    tl.store(out + i, tl.load(x + i) + i)


@triton.jit
def range_of_rows(x, out, START: tl.constexpr, END: tl.constexpr, N: tl.constexpr):
    at = tl.arange(START, END)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.load(x + at))


@triton.jit
def to_whole(x, out, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    if F == "rint":
        value = libdevice.rint(value)
    elif F == "nearbyint":
        value = libdevice.nearbyint(value)
    elif F == "round":
        value = libdevice.round(value)
    else:
        value = libdevice.trunc(value)
    tl.store(out + i, value)


@triton.jit
def floor_and_ceil(x, low, high, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.store(low + i, tl.floor(value))
    tl.store(high + i, tl.ceil(value))


@triton.jit
def high_product(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.umulhi(tl.load(x + i), tl.load(y + i)))


@triton.jit
def fused(x, y, z, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.fma(tl.load(x + i), tl.load(y + i), tl.load(z + i)))
