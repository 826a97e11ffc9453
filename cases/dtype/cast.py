"""Conversions between element types."""

import triton
import triton.language as tl


@triton.jit
def cast_kernel(x, out, DTYPE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets).to(DTYPE))


@triton.jit
def store_cast_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets))


@triton.jit
def through_kernel(x, out, DTYPE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets)
    tl.store(out + offsets, values.to(DTYPE).to(values.dtype))


@triton.jit
def bitcast_kernel(x, out, DTYPE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets).to(DTYPE, bitcast=True))


@triton.jit
def round_toward_zero_kernel(x, out, DTYPE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets).to(DTYPE, fp_downcast_rounding="rtz"))


@triton.jit
def cast_bits_kernel(x, out, DTYPE: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets).to(DTYPE).to(BITS, bitcast=True))


@triton.jit
def bool_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets).to(tl.int1).to(tl.int32))


@triton.jit
def constant_kernel(out, DTYPE: tl.constexpr, VALUE: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.full((BLOCK,), VALUE, DTYPE))


@triton.jit
def constant_cast_kernel(out, DTYPE: tl.constexpr, VALUE: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.full((BLOCK,), VALUE, tl.float32).to(DTYPE))
