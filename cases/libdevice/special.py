"""tl.extra.libdevice: functions with an error of some units."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def acosh_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.acosh(tl.load(x + offsets)))


@triton.jit
def asinh_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.asinh(tl.load(x + offsets)))


@triton.jit
def atanh_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.atanh(tl.load(x + offsets)))


@triton.jit
def cbrt_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.cbrt(tl.load(x + offsets)))


@triton.jit
def rcbrt_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.rcbrt(tl.load(x + offsets)))


@triton.jit
def cospi_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.cospi(tl.load(x + offsets)))


@triton.jit
def sinpi_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.sinpi(tl.load(x + offsets)))


@triton.jit
def erfc_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.erfc(tl.load(x + offsets)))


@triton.jit
def erfcinv_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.erfcinv(tl.load(x + offsets)))


@triton.jit
def erfcx_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.erfcx(tl.load(x + offsets)))


@triton.jit
def erfinv_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.erfinv(tl.load(x + offsets)))


@triton.jit
def exp10_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.exp10(tl.load(x + offsets)))


@triton.jit
def hypot_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.hypot(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def rhypot_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.rhypot(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def norm3d_kernel(x, y, z, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    b = tl.load(y + offsets)
    c = tl.load(z + offsets)
    tl.store(out + offsets, libdevice.norm3d(a, b, c))


@triton.jit
def norm4d_kernel(x, y, z, w, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    b = tl.load(y + offsets)
    c = tl.load(z + offsets)
    d = tl.load(w + offsets)
    tl.store(out + offsets, libdevice.norm4d(a, b, c, d))


@triton.jit
def rnorm3d_kernel(x, y, z, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    b = tl.load(y + offsets)
    c = tl.load(z + offsets)
    tl.store(out + offsets, libdevice.rnorm3d(a, b, c))


@triton.jit
def rnorm4d_kernel(x, y, z, w, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    b = tl.load(y + offsets)
    c = tl.load(z + offsets)
    d = tl.load(w + offsets)
    tl.store(out + offsets, libdevice.rnorm4d(a, b, c, d))


@triton.jit
def normcdf_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.normcdf(tl.load(x + offsets)))


@triton.jit
def normcdfinv_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.normcdfinv(tl.load(x + offsets)))


@triton.jit
def tgamma_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.tgamma(tl.load(x + offsets)))


@triton.jit
def lgamma_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.lgamma(tl.load(x + offsets)))


@triton.jit
def j0_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.j0(tl.load(x + offsets)))


@triton.jit
def j1_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.j1(tl.load(x + offsets)))


@triton.jit
def jn_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.jn(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def y0_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.y0(tl.load(x + offsets)))


@triton.jit
def y1_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.y1(tl.load(x + offsets)))


@triton.jit
def yn_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.yn(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def cyl_bessel_i0_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.cyl_bessel_i0(tl.load(x + offsets)))


@triton.jit
def cyl_bessel_i1_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.cyl_bessel_i1(tl.load(x + offsets)))


@triton.jit
def pow_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.pow(tl.load(x + offsets), tl.load(y + offsets)))
