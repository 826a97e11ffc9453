"""Elementwise operators over one and two blocks."""

import triton
import triton.language as tl


@triton.jit
def binary_kernel(x, y, out, OP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    b = tl.load(y + offsets)
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
    elif OP == "minimum":
        r = tl.minimum(a, b)
    else:
        r = tl.maximum(a, b)
    tl.store(out + offsets, r)


@triton.jit
def compare_kernel(x, y, out, OP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    b = tl.load(y + offsets)
    if OP == "eq":
        r = a == b
    elif OP == "ne":
        r = a != b
    elif OP == "lt":
        r = a < b
    elif OP == "le":
        r = a <= b
    elif OP == "gt":
        r = a > b
    else:
        r = a >= b
    tl.store(out + offsets, r)


@triton.jit
def unary_kernel(x, out, OP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    if OP == "neg":
        r = -a
    elif OP == "invert":
        r = ~a
    elif OP == "abs":
        r = tl.abs(a)
    else:
        r = +a
    tl.store(out + offsets, r)


@triton.jit
def scalar_operand_kernel(x, out, C: tl.constexpr, OP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    if OP == "add":
        r = a + C
    elif OP == "rsub":
        r = C - a
    elif OP == "mul":
        r = a * C
    elif OP == "truediv":
        r = a / C
    else:
        r = a < C
    tl.store(out + offsets, r)


@triton.jit
def where_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    tl.store(out + offsets, tl.where(a > 0, a, 0))


@triton.jit
def full_kernel(out, VALUE: tl.constexpr, DTYPE: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.full((BLOCK,), VALUE, DTYPE))
