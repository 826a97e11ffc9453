"""Printing from programs."""

import triton
import triton.language as tl


@triton.jit
def print_kernel(x, out, HEX: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets)
    tl.device_print("v", values, hex=HEX)
    tl.store(out + offsets, values)
