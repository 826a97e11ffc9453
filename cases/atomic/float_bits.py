"""Bitwise atomics on floats: the compiler takes them, and they change the bits."""

import triton
import triton.language as tl


@triton.jit
def bitwise(x, y, out, OP: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    value = tl.load(y + lanes)
    if OP == "and":
        before = tl.atomic_and(x + lanes, value)
    elif OP == "or":
        before = tl.atomic_or(x + lanes, value)
    else:
        before = tl.atomic_xor(x + lanes, value)
    tl.store(out + lanes, before)


@triton.jit
def bitwise_masked(x, y, out, OP: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    value = tl.load(y + lanes)
    mask = lanes % 3 != 0
    if OP == "and":
        tl.atomic_and(x + lanes, value, mask=mask)
    elif OP == "or":
        tl.atomic_or(x + lanes, value, mask=mask)
    else:
        tl.atomic_xor(x + lanes, value, mask=mask)
    tl.store(out + lanes, value)
