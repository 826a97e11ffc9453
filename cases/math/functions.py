"""Functions of triton.language and tl.math, lane by lane."""

import triton
import triton.language as tl


@triton.jit
def unary_kernel(x, out, F: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    v = tl.load(x + offsets)
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
    elif F == "abs":
        r = tl.abs(v)
    elif F == "sqrt_rn":
        r = tl.sqrt_rn(v)
    else:
        r = tl.sigmoid(v)
    tl.store(out + offsets, r)


@triton.jit
def fma_kernel(x, y, z, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    b = tl.load(y + offsets)
    c = tl.load(z + offsets)
    tl.store(out + offsets, tl.fma(a, b, c))


@triton.jit
def divide_kernel(x, y, out, F: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    b = tl.load(y + offsets)
    if F == "div_rn":
        r = tl.div_rn(a, b)
    elif F == "fdiv":
        r = tl.fdiv(a, b)
    else:
        r = a % b
    tl.store(out + offsets, r)


@triton.jit
def umulhi_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.umulhi(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def clamp_kernel(x, out, lo, hi, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.clamp(tl.load(x + offsets), lo, hi))


@triton.jit
def propagate_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    b = tl.load(y + offsets)
    tl.store(out + offsets, tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + BLOCK + offsets, tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 2 * BLOCK + offsets, tl.maximum(a, b))
    tl.store(out + 3 * BLOCK + offsets, tl.minimum(a, b))


@triton.jit
def cdiv_kernel(out, n, d, D: tl.constexpr):
    tl.store(out, tl.cdiv(n, d))
    tl.store(out + 1, tl.cdiv(n, D))
    tl.store(out + 2, tl.cdiv(D, 3))
