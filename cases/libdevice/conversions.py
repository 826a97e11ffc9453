"""tl.extra.libdevice: conversions with a direction."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def float2int_rd_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.float2int_rd(tl.load(x + offsets)))


@triton.jit
def float2int_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.float2int_rn(tl.load(x + offsets)))


@triton.jit
def float2int_ru_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.float2int_ru(tl.load(x + offsets)))


@triton.jit
def float2int_rz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.float2int_rz(tl.load(x + offsets)))


@triton.jit
def float2uint_rd_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.float2uint_rd(tl.load(x + offsets)))


@triton.jit
def float2uint_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.float2uint_rn(tl.load(x + offsets)))


@triton.jit
def float2uint_ru_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.float2uint_ru(tl.load(x + offsets)))


@triton.jit
def float2uint_rz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.float2uint_rz(tl.load(x + offsets)))


@triton.jit
def float2ll_rd_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.float2ll_rd(tl.load(x + offsets)))


@triton.jit
def float2ll_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.float2ll_rn(tl.load(x + offsets)))


@triton.jit
def float2ll_ru_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.float2ll_ru(tl.load(x + offsets)))


@triton.jit
def float2ll_rz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.float2ll_rz(tl.load(x + offsets)))


@triton.jit
def float2ull_rd_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.float2ull_rd(tl.load(x + offsets)))


@triton.jit
def float2ull_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.float2ull_rn(tl.load(x + offsets)))


@triton.jit
def float2ull_ru_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.float2ull_ru(tl.load(x + offsets)))


@triton.jit
def float2ull_rz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.float2ull_rz(tl.load(x + offsets)))


@triton.jit
def double2int_rd_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2int_rd(tl.load(x + offsets)))


@triton.jit
def double2int_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2int_rn(tl.load(x + offsets)))


@triton.jit
def double2int_ru_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2int_ru(tl.load(x + offsets)))


@triton.jit
def double2int_rz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2int_rz(tl.load(x + offsets)))


@triton.jit
def double2uint_rd_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2uint_rd(tl.load(x + offsets)))


@triton.jit
def double2uint_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2uint_rn(tl.load(x + offsets)))


@triton.jit
def double2uint_ru_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2uint_ru(tl.load(x + offsets)))


@triton.jit
def double2uint_rz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2uint_rz(tl.load(x + offsets)))


@triton.jit
def double2ll_rd_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2ll_rd(tl.load(x + offsets)))


@triton.jit
def double2ll_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2ll_rn(tl.load(x + offsets)))


@triton.jit
def double2ll_ru_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2ll_ru(tl.load(x + offsets)))


@triton.jit
def double2ll_rz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2ll_rz(tl.load(x + offsets)))


@triton.jit
def double2ull_rd_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2ull_rd(tl.load(x + offsets)))


@triton.jit
def double2ull_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2ull_rn(tl.load(x + offsets)))


@triton.jit
def double2ull_ru_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2ull_ru(tl.load(x + offsets)))


@triton.jit
def double2ull_rz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2ull_rz(tl.load(x + offsets)))


@triton.jit
def double2float_rd_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2float_rd(tl.load(x + offsets)))


@triton.jit
def double2float_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2float_rn(tl.load(x + offsets)))


@triton.jit
def double2float_ru_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2float_ru(tl.load(x + offsets)))


@triton.jit
def double2float_rz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.double2float_rz(tl.load(x + offsets)))


@triton.jit
def int2float_rd_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.int2float_rd(tl.load(x + offsets)))


@triton.jit
def int2float_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.int2float_rn(tl.load(x + offsets)))


@triton.jit
def int2float_ru_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.int2float_ru(tl.load(x + offsets)))


@triton.jit
def int2float_rz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.int2float_rz(tl.load(x + offsets)))


@triton.jit
def uint2float_rd_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.uint2float_rd(tl.load(x + offsets)))


@triton.jit
def uint2float_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.uint2float_rn(tl.load(x + offsets)))


@triton.jit
def uint2float_ru_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.uint2float_ru(tl.load(x + offsets)))


@triton.jit
def uint2float_rz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.uint2float_rz(tl.load(x + offsets)))


@triton.jit
def ll2float_rd_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ll2float_rd(tl.load(x + offsets)))


@triton.jit
def ll2float_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ll2float_rn(tl.load(x + offsets)))


@triton.jit
def ll2float_ru_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ll2float_ru(tl.load(x + offsets)))


@triton.jit
def ll2float_rz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ll2float_rz(tl.load(x + offsets)))


@triton.jit
def ull2float_rd_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ull2float_rd(tl.load(x + offsets)))


@triton.jit
def ull2float_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ull2float_rn(tl.load(x + offsets)))


@triton.jit
def ull2float_ru_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ull2float_ru(tl.load(x + offsets)))


@triton.jit
def ull2float_rz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ull2float_rz(tl.load(x + offsets)))


@triton.jit
def ll2double_rd_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ll2double_rd(tl.load(x + offsets)))


@triton.jit
def ll2double_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ll2double_rn(tl.load(x + offsets)))


@triton.jit
def ll2double_ru_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ll2double_ru(tl.load(x + offsets)))


@triton.jit
def ll2double_rz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ll2double_rz(tl.load(x + offsets)))


@triton.jit
def ull2double_rd_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ull2double_rd(tl.load(x + offsets)))


@triton.jit
def ull2double_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ull2double_rn(tl.load(x + offsets)))


@triton.jit
def ull2double_ru_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ull2double_ru(tl.load(x + offsets)))


@triton.jit
def ull2double_rz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.ull2double_rz(tl.load(x + offsets)))


@triton.jit
def int2double_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.int2double_rn(tl.load(x + offsets)))


@triton.jit
def uint2double_rn_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, libdevice.uint2double_rn(tl.load(x + offsets)))
