"""Functions of the library that `tl.math` has too, and the bits of numbers."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def applied(x, y, out, OP: tl.constexpr):
    i = tl.arange(0, 32)
    a = tl.load(x + i)
    b = tl.load(y + i)
    if OP == "acos":
        r = libdevice.acos(a)
    elif OP == "asin":
        r = libdevice.asin(a)
    elif OP == "atan":
        r = libdevice.atan(a)
    elif OP == "atan2":
        r = libdevice.atan2(a, b)
    elif OP == "ceil":
        r = libdevice.ceil(a)
    elif OP == "cos":
        r = libdevice.cos(a)
    elif OP == "cosh":
        r = libdevice.cosh(a)
    elif OP == "erf":
        r = libdevice.erf(a)
    elif OP == "exp":
        r = libdevice.exp(a)
    elif OP == "exp2":
        r = libdevice.exp2(a)
    elif OP == "expm1":
        r = libdevice.expm1(a)
    elif OP == "floor":
        r = libdevice.floor(a)
    elif OP == "isinf":
        r = libdevice.isinf(a / (b - b)).to(tl.int32)
    elif OP == "isnan":
        r = libdevice.isnan((a - a) / (b - b)).to(tl.int32)
    elif OP == "log":
        r = libdevice.log(b)
    elif OP == "log10":
        r = libdevice.log10(b)
    elif OP == "log1p":
        r = libdevice.log1p(b)
    elif OP == "log2":
        r = libdevice.log2(b)
    elif OP == "nearbyint":
        r = libdevice.nearbyint(a * 10)
    elif OP == "rint":
        r = libdevice.rint(a * 10)
    elif OP == "round":
        r = libdevice.round(a * 10)
    elif OP == "rsqrt":
        r = libdevice.rsqrt(b)
    elif OP == "sin":
        r = libdevice.sin(a)
    elif OP == "sinh":
        r = libdevice.sinh(a)
    elif OP == "sqrt":
        r = libdevice.sqrt(b)
    elif OP == "tan":
        r = libdevice.tan(a)
    elif OP == "tanh":
        r = libdevice.tanh(a)
    elif OP == "trunc":
        r = libdevice.trunc(a * 10)
    tl.store(out + i, r)


@triton.jit
def bits(x, out, OP: tl.constexpr):
    i = tl.arange(0, 32)
    a = tl.load(x + i)
    if OP == "double_as_longlong":
        r = libdevice.double_as_longlong(a)
    elif OP == "float_as_int":
        r = libdevice.float_as_int(a)
    elif OP == "float_as_uint":
        r = libdevice.float_as_uint(a)
    elif OP == "int_as_float":
        r = libdevice.int_as_float(a)
    elif OP == "longlong_as_double":
        r = libdevice.longlong_as_double(a)
    elif OP == "uint_as_float":
        r = libdevice.uint_as_float(a)
    tl.store(out + i, r)
