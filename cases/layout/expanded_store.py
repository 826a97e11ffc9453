"""Stores one value through a tensor whose elements are all one element."""

import triton
import triton.language as tl


@triton.jit
def expanded_store_kernel(ptr, stride, value, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(ptr + offsets * stride, tl.full((BLOCK,), value, tl.float32))
