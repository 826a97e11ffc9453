"""Truth values of run-time numbers."""

import triton
import triton.language as tl


@triton.jit
def not_kernel(out, n):
    tl.store(out, (not n > 3).to(tl.int32) + 5)
