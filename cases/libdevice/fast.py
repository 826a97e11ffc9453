"""tl.extra.libdevice: the fast functions."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def fast_cosf_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.fast_cosf(tl.load(x + offsets)))


@triton.jit
def fast_exp10f_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.fast_exp10f(tl.load(x + offsets)))


@triton.jit
def fast_expf_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.fast_expf(tl.load(x + offsets)))


@triton.jit
def fast_log10f_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.fast_log10f(tl.load(x + offsets)))


@triton.jit
def fast_log2f_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.fast_log2f(tl.load(x + offsets)))


@triton.jit
def fast_logf_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.fast_logf(tl.load(x + offsets)))


@triton.jit
def fast_powf_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.fast_powf(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def fast_sinf_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.fast_sinf(tl.load(x + offsets)))


@triton.jit
def fast_tanf_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.fast_tanf(tl.load(x + offsets)))


@triton.jit
def fast_dividef_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.fast_dividef(tl.load(x + offsets), tl.load(y + offsets)))
