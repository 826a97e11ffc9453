"""Casts that say how they round."""

import triton
import triton.language as tl


@triton.jit
def rounding_kernel(x, out, DTYPE: tl.constexpr, ROUNDING: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets).to(DTYPE, fp_downcast_rounding=ROUNDING))
