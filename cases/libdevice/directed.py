"""tl.extra.libdevice: arithmetic with a direction."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def add_rd_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.add_rd(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def add_rn_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.add_rn(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def add_ru_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.add_ru(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def add_rz_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.add_rz(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def sub_rd_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.sub_rd(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def sub_rn_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.sub_rn(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def sub_ru_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.sub_ru(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def sub_rz_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.sub_rz(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def mul_rd_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.mul_rd(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def mul_rn_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.mul_rn(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def mul_ru_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.mul_ru(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def mul_rz_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.mul_rz(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def div_rd_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.div_rd(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def div_rn_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.div_rn(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def div_ru_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.div_ru(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def div_rz_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.div_rz(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def fma_rd_kernel(x, y, z, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    b = tl.load(y + offsets)
    c = tl.load(z + offsets)
    tl.store(out + offsets, libdevice.fma_rd(a, b, c))


@triton.jit
def fma_rn_kernel(x, y, z, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    b = tl.load(y + offsets)
    c = tl.load(z + offsets)
    tl.store(out + offsets, libdevice.fma_rn(a, b, c))


@triton.jit
def fma_ru_kernel(x, y, z, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    b = tl.load(y + offsets)
    c = tl.load(z + offsets)
    tl.store(out + offsets, libdevice.fma_ru(a, b, c))


@triton.jit
def fma_rz_kernel(x, y, z, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    b = tl.load(y + offsets)
    c = tl.load(z + offsets)
    tl.store(out + offsets, libdevice.fma_rz(a, b, c))


@triton.jit
def sqrt_rd_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.sqrt_rd(tl.load(x + offsets)))


@triton.jit
def sqrt_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.sqrt_rn(tl.load(x + offsets)))


@triton.jit
def sqrt_ru_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.sqrt_ru(tl.load(x + offsets)))


@triton.jit
def sqrt_rz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.sqrt_rz(tl.load(x + offsets)))


@triton.jit
def rcp_rd_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.rcp_rd(tl.load(x + offsets)))


@triton.jit
def rcp_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.rcp_rn(tl.load(x + offsets)))


@triton.jit
def rcp_ru_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.rcp_ru(tl.load(x + offsets)))


@triton.jit
def rcp_rz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.rcp_rz(tl.load(x + offsets)))
