"""Values that must be known at compile time, and are not."""

import triton
import triton.language as tl


@triton.jit
def static_range_kernel(out, n):
    for i in tl.static_range(n):
        tl.store(out + i, 3)


@triton.jit
def static_assert_kernel(out, n):
    tl.static_assert(n > 3)
    tl.store(out, 3)


@triton.jit
def hint_kernel(out, n):
    i = tl.multiple_of(tl.arange(0, 8), n)
    tl.store(out + i, 3)
