"""`and` and `or` of blocks: each lane has its own truth."""

import triton
import triton.language as tl


@triton.jit
def logic_kernel(out, both, either):
    i = tl.arange(0, 8)
    tl.store(out + i, tl.where(i > 2 and i < 5, 1, 0))
    tl.store(both + i, (i > 2 and i < 5).to(tl.int32))
    tl.store(either + i, (i < 2 or i > 5).to(tl.int32))
