"""Scales one axis of a three-dimensional tensor by its index."""

import triton
import triton.language as tl


@triton.jit
def scale_3d_kernel(ptr, s0, s1, s2, n0, n1, n2, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.program_id(1)
    k = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    mask = (i < n0) & (j < n1) & (k < n2)
    pointers = ptr + i * s0 + j * s1 + k * s2
    values = tl.load(pointers, mask=mask, other=0)
    tl.store(pointers, values * (i + 2 * j + 3), mask=mask)
