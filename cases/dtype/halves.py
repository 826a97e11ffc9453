"""Numbers that become f16."""

import triton
import triton.language as tl


@triton.jit
def constant_kernel(out):
    tl.store(out + tl.arange(0, 4), tl.full((4,), 1.0004882812509, tl.float16))


@triton.jit
def toward_zero_kernel(x, out):
    i = tl.arange(0, 4)
    tl.store(out + i, tl.load(x + i).to(tl.float16, fp_downcast_rounding="rtz"))
