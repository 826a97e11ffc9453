"""Methods of a tensor that reduce or scan: one branch for each."""

import triton
import triton.language as tl


@triton.jit
def larger(a, b):
    return tl.where(a > b, a, b)


@triton.jit
def other_bits(a, b):
    return a ^ b


@triton.jit
def reduced(x, out, OP: tl.constexpr):
    m = tl.load(x + tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :])
    if OP == "max":
        r = m.max(1)
    elif OP == "min":
        r = m.min(1)
    elif OP == "sum":
        r = m.sum(1)
    elif OP == "reduce":
        r = m.reduce(1, larger)
    elif OP == "xor_sum":
        r = m.xor_sum(1)
    elif OP == "reduce_or":
        r = m.reduce_or(1)
    elif OP == "argmax":
        r = m.argmax(1)
    elif OP == "argmin":
        r = m.argmin(1)
    tl.store(out + tl.arange(0, 4), r)


@triton.jit
def scanned(x, out, OP: tl.constexpr):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    if OP == "cumsum":
        r = a.cumsum(0)
    elif OP == "cumprod":
        r = a.cumprod(0)
    elif OP == "associative_scan":
        r = a.associative_scan(0, larger)
    elif OP == "sort":
        # The method is there for the documentation: it gives None.
        a.sort()
        r = a
    elif OP == "softmax":
        r = a.softmax()
    elif OP == "softmax_function":
        r = tl.softmax(a)
    tl.store(out + i, r)


@triton.jit
def sorted_by_the_library(x, out):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.standard.sort_impl(tl.load(x + i)))
