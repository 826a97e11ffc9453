"""Functions of tl and tl.math for every dtype that they take, as functions and as methods."""

import triton
import triton.language as tl


@triton.jit
def function_kernel(x, out, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    if F == "exp":
        r = tl.exp(v)
    elif F == "exp2":
        r = tl.exp2(v)
    elif F == "log":
        r = tl.log(v)
    elif F == "log2":
        r = tl.log2(v)
    elif F == "sin":
        r = tl.sin(v)
    elif F == "cos":
        r = tl.cos(v)
    elif F == "sqrt":
        r = tl.sqrt(v)
    elif F == "rsqrt":
        r = tl.rsqrt(v)
    elif F == "erf":
        r = tl.erf(v)
    elif F == "floor":
        r = tl.floor(v)
    elif F == "ceil":
        r = tl.ceil(v)
    elif F == "sqrt_rn":
        r = tl.sqrt_rn(v)
    else:
        r = tl.sigmoid(v)
    tl.store(out + i, r)


@triton.jit
def method_kernel(x, out, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    if F == "exp":
        r = v.exp()
    elif F == "exp2":
        r = v.exp2()
    elif F == "log":
        r = v.log()
    elif F == "log2":
        r = v.log2()
    elif F == "sin":
        r = v.sin()
    elif F == "cos":
        r = v.cos()
    elif F == "sqrt":
        r = v.sqrt()
    elif F == "rsqrt":
        r = v.rsqrt()
    elif F == "erf":
        r = v.erf()
    elif F == "floor":
        r = v.floor()
    elif F == "ceil":
        r = v.ceil()
    elif F == "sqrt_rn":
        r = v.sqrt_rn()
    else:
        r = v.sigmoid()
    tl.store(out + i, r)


@triton.jit
def extremum_kernel(x, y, out, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)[:, None]
    b = tl.load(y + i)[None, :]
    if F == "maximum_all":
        r = tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
    elif F == "minimum_all":
        r = tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
    elif F == "maximum_none":
        r = tl.maximum(a, b, propagate_nan=tl.PropagateNan.NONE)
    else:
        r = tl.minimum(a, b, propagate_nan=tl.PropagateNan.NONE)
    tl.store(out + i[:, None] * N + i[None, :], r)


@triton.jit
def clamp_kernel(x, lo, hi, out, ALL: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    low = tl.load(lo)
    high = tl.load(hi)
    if ALL:
        r = tl.clamp(tl.load(x + i), low, high, propagate_nan=tl.PropagateNan.ALL)
    else:
        r = tl.clamp(tl.load(x + i), low, high)
    tl.store(out + i, r)


@triton.jit
def fma_kernel(x, y, z, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.fma(tl.load(x + i), tl.load(y + i), tl.load(z + i)))


@triton.jit
def divide_kernel(x, y, out, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)[:, None]
    b = tl.load(y + i)[None, :]
    if F == "div_rn":
        r = tl.div_rn(a, b)
    elif F == "fdiv":
        r = tl.fdiv(a, b)
    else:
        r = tl.fdiv(a, b, ieee_rounding=True)
    tl.store(out + i[:, None] * N + i[None, :], r)


@triton.jit
def umulhi_kernel(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    r = tl.umulhi(tl.load(x + i)[:, None], tl.load(y + i)[None, :])
    tl.store(out + i[:, None] * N + i[None, :], r)


@triton.jit
def cdiv_kernel(x, y, out, METHOD: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)[:, None]
    b = tl.load(y + i)[None, :]
    if METHOD:
        r = a.cdiv(b)
    else:
        r = tl.cdiv(a, b)
    tl.store(out + i[:, None] * N + i[None, :], r)


@triton.jit
def softmax_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + offsets, tl.softmax(tl.load(x + offsets)))


@triton.jit
def softmax_dim_kernel(x, out, DIM: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + offsets, tl.softmax(tl.load(x + offsets), dim=DIM, keep_dims=True))


@triton.jit
def swizzle2d_kernel(out, SIZE_I: tl.constexpr, SIZE_J: tl.constexpr, GROUP: tl.constexpr):
    i = tl.program_id(0)
    j = tl.program_id(1)
    a, b = tl.swizzle2d(i, j, SIZE_I, SIZE_J, GROUP)
    tl.store(out + (i * SIZE_J + j) * 2, a)
    tl.store(out + (i * SIZE_J + j) * 2 + 1, b)


@triton.jit
def where_kernel(c, x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.where(tl.load(c + i), tl.load(x + i), tl.load(y + i)))


@triton.jit
def where_scalar_kernel(c, x, out, LEFT: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    if LEFT:
        r = tl.where(tl.load(c + i), 1, v)
    else:
        r = tl.where(tl.load(c + i), v, 0)
    tl.store(out + i, r)
