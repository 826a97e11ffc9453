"""tl.extra.libdevice: functions of floats that are exact."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def signbit_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.signbit(tl.load(x + offsets)))


@triton.jit
def finitef_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.finitef(tl.load(x + offsets)))


@triton.jit
def isfinited_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.isfinited(tl.load(x + offsets)))


@triton.jit
def ilogb_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ilogb(tl.load(x + offsets)))


@triton.jit
def logb_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.logb(tl.load(x + offsets)))


@triton.jit
def saturatef_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.saturatef(tl.load(x + offsets)))


@triton.jit
def rsqrt_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.rsqrt_rn(tl.load(x + offsets)))


@triton.jit
def nextafter_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.nextafter(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def fdim_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.fdim(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def fmod_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.fmod(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def remainder_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.remainder(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def copysign_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.copysign(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def ldexp_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ldexp(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def scalbn_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.scalbn(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def llrint_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.llrint(tl.load(x + offsets)))


@triton.jit
def llround_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.llround(tl.load(x + offsets)))


@triton.jit
def fma_kernel(x, y, z, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    b = tl.load(y + offsets)
    c = tl.load(z + offsets)
    tl.store(out + offsets, libdevice.fma(a, b, c))


@triton.jit
def abs_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.abs(tl.load(x + offsets)))
