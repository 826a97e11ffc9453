"""Arithmetic: one branch for each operation."""

import triton
import triton.language as tl


@triton.jit
def product(a, b):
    return a * b


@triton.jit
def kept(a, b):
    return a


@triton.jit
def computed(x, y, out, OP: tl.constexpr):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    b = tl.load(y + i)
    if OP == "clamp":
        r = tl.clamp(a, b, b)
    elif OP == "abs":
        r = tl.abs(a)
    elif OP == "abs_method":
        r = a.abs()
    elif OP == "mod":
        r = a % b
    elif OP == "rmod":
        r = 1 % b
    elif OP == "truediv":
        r = a / b
    elif OP == "rtruediv":
        r = 1 / b
    elif OP == "fdiv":
        r = tl.fdiv(a, b)
    elif OP == "add":
        r = a + b
    elif OP == "radd":
        r = 1 + a
    elif OP == "sub":
        r = a - b
    elif OP == "rsub":
        r = 1 - a
    elif OP == "mul":
        r = a * b
    elif OP == "rmul":
        r = 2 * a
    elif OP == "neg":
        r = -a
    elif OP == "maximum":
        r = tl.maximum(a, b)
    elif OP == "minimum":
        r = tl.minimum(a, b)
    elif OP == "fma":
        r = tl.fma(a, b, a)
    elif OP == "cumsum":
        r = tl.cumsum(a)
    elif OP == "cumprod":
        r = tl.cumprod(a)
    elif OP == "scan":
        r = tl.associative_scan(a, 0, product)
    elif OP == "sort":
        r = tl.sort(a)
    elif OP == "topk":
        r = tl.topk(a, 16)
    elif OP == "bitonic_merge":
        r = tl.bitonic_merge(a)
    tl.store(out + i, r)


@triton.jit
def called(x, y, out, OP: tl.constexpr):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    b = tl.load(y + i)
    if OP == "add":
        r = tl.add(a, b)
    elif OP == "sub":
        r = tl.sub(a, b)
    else:
        r = tl.mul(a, b)
    tl.store(out + i, r)


@triton.jit
def mapped(x, y, out, OP: tl.constexpr):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    b = tl.load(y + i)
    if OP == "product":
        r = tl.map_elementwise(product, a, b)
    else:
        r = tl.map_elementwise(kept, a, b)
    tl.store(out + i, r)


@triton.jit
def compared(x, y, out, OP: tl.constexpr):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    b = tl.load(y + i)
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
    elif OP == "ge":
        r = a >= b
    elif OP == "req":
        r = 1 == b
    elif OP == "rne":
        r = 1 != b
    elif OP == "rlt":
        r = 1 < b
    elif OP == "rle":
        r = 1 <= b
    elif OP == "rgt":
        r = 1 > b
    elif OP == "rge":
        r = 1 >= b
    tl.store(out + i, r.to(tl.int32))


@triton.jit
def collapsed(x, out, OP: tl.constexpr):
    m = tl.load(x + tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :])
    if OP == "max":
        r = tl.max(m, 1)
    elif OP == "min":
        r = tl.min(m, 1)
    elif OP == "sum":
        r = tl.sum(m, 1)
    elif OP == "reduce":
        r = tl.reduce(m, 1, product)
    elif OP == "argmax":
        r = tl.argmax(m, 1)
    elif OP == "argmin":
        r = tl.argmin(m, 1)
    tl.store(out + tl.arange(0, 4), r)
