"""Copies inside of one buffer, with a barrier between all loads and all stores."""

import triton
import triton.language as tl


@triton.jit
def copy_kernel(src, dst, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(src + offsets, mask=mask)
    tl.debug_barrier()
    tl.store(dst + offsets, values, mask=mask)
