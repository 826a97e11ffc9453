"""Scalar arguments of every kind that Triton specialises on."""

import triton
import triton.language as tl


@triton.jit
def store_kernel(out, a):
    tl.store(out, a)


@triton.jit
def double_kernel(out, a):
    tl.store(out, a + a)


@triton.jit
def to_kernel(out, a, dtype: tl.constexpr):
    tl.store(out, a.to(dtype))


@triton.jit
def add_block_kernel(x, out, a, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets) + a)


@triton.jit
def multiply_block_kernel(x, out, a, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets) * a)


@triton.jit
def flag_kernel(out, flag):
    if flag:
        tl.store(out, 1)
    else:
        tl.store(out, 2)


@triton.jit
def optional_kernel(x, out, bias, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets)
    if bias is not None:
        values += tl.load(bias + offsets)
    tl.store(out + offsets, values)


@triton.jit
def divide_kernel(out, a, b):
    tl.store(out, a // b)
    tl.store(out + 1, a % b)
