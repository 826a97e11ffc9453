"""tl.extra.libdevice: functions of integers and of bits."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def clz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.clz(tl.load(x + offsets)))


@triton.jit
def popc_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.popc(tl.load(x + offsets)))


@triton.jit
def brev_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.brev(tl.load(x + offsets)))


@triton.jit
def ffs_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ffs(tl.load(x + offsets)))


@triton.jit
def abs_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.abs(tl.load(x + offsets)))


@triton.jit
def mulhi_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.mulhi(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def mul24_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.mul24(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def hadd_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.hadd(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def rhadd_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.rhadd(tl.load(x + offsets), tl.load(y + offsets)))


@triton.jit
def byte_perm_kernel(x, y, z, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    b = tl.load(y + offsets)
    c = tl.load(z + offsets)
    tl.store(out + offsets, libdevice.byte_perm(a, b, c))


@triton.jit
def sad_kernel(x, y, z, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    b = tl.load(y + offsets)
    c = tl.load(z + offsets)
    tl.store(out + offsets, libdevice.sad(a, b, c))


@triton.jit
def double2hiint_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2hiint(tl.load(x + offsets)))


@triton.jit
def double2loint_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2loint(tl.load(x + offsets)))


@triton.jit
def hiloint2double_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.hiloint2double(tl.load(x + offsets), tl.load(y + offsets)))
