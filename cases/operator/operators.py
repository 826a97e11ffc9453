"""Every operator: between blocks, with a literal, with an argument, in place, and alone."""

import triton
import triton.language as tl


@triton.jit
def operate(a, b, OP: tl.constexpr):
    if OP == "add":
        r = a + b
    elif OP == "sub":
        r = a - b
    elif OP == "mul":
        r = a * b
    elif OP == "truediv":
        r = a / b
    elif OP == "floordiv":
        r = a // b
    elif OP == "mod":
        r = a % b
    elif OP == "and":
        r = a & b
    elif OP == "or":
        r = a | b
    elif OP == "xor":
        r = a ^ b
    elif OP == "lshift":
        r = a << b
    elif OP == "rshift":
        r = a >> b
    elif OP == "eq":
        r = a == b
    elif OP == "ne":
        r = a != b
    elif OP == "lt":
        r = a < b
    elif OP == "le":
        r = a <= b
    elif OP == "gt":
        r = a > b
    elif OP == "ge":
        r = a >= b
    elif OP == "minimum":
        r = tl.minimum(a, b)
    elif OP == "maximum":
        r = tl.maximum(a, b)
    else:
        r = tl.where(a != 0, a, b)
    return r


@triton.jit
def grid_kernel(x, y, out, OP: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)[:, None]
    b = tl.load(y + i)[None, :]
    tl.store(out + i[:, None] * N + i[None, :], operate(a, b, OP))


@triton.jit
def literal_kernel(x, out, C: tl.constexpr, OP: tl.constexpr, LEFT: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    if LEFT:
        r = operate(C, a, OP)
    else:
        r = operate(a, C, OP)
    tl.store(out + i, r)


@triton.jit
def argument_kernel(x, out, c, OP: tl.constexpr, LEFT: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    if LEFT:
        r = operate(c, a, OP)
    else:
        r = operate(a, c, OP)
    tl.store(out + i, r)


@triton.jit
def augmented_kernel(x, y, out, OP: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    r = tl.load(x + i)
    b = tl.load(y + i)
    if OP == "add":
        r += b
    elif OP == "sub":
        r -= b
    elif OP == "mul":
        r *= b
    elif OP == "truediv":
        r /= b
    elif OP == "floordiv":
        r //= b
    elif OP == "mod":
        r %= b
    elif OP == "and":
        r &= b
    elif OP == "or":
        r |= b
    elif OP == "xor":
        r ^= b
    elif OP == "lshift":
        r <<= b
    else:
        r >>= b
    tl.store(out + i, r)


@triton.jit
def alone_kernel(x, out, OP: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    if OP == "neg":
        r = -a
    elif OP == "invert":
        r = ~a
    elif OP == "not":
        r = not a
    elif OP == "abs":
        r = tl.abs(a)
    else:
        r = a.abs()
    tl.store(out + i, r)


@triton.jit
def logical_kernel(x, y, out, OP: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)[:, None]
    b = tl.load(y + i)[None, :]
    if OP == "and":
        r = a.logical_and(b)
    else:
        r = a.logical_or(b)
    tl.store(out + i[:, None] * N + i[None, :], r)
