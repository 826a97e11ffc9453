"""Names that are annotated as constexprs and hold what is known at run time."""

import triton
import triton.language as tl


@triton.jit
def compared_kernel(out, K: tl.constexpr):
    c: tl.constexpr = tl.program_id(0)
    if c > K:
        tl.store(out, 1)
    else:
        tl.store(out, 2)


@triton.jit
def left_kernel(out, K: tl.constexpr):
    c: tl.constexpr = tl.program_id(0) + K
    tl.store(out, c * 2)


@triton.jit
def right_kernel(out, K: tl.constexpr):
    c: tl.constexpr = tl.program_id(0)
    tl.store(out, K - c)


@triton.jit
def cdiv_kernel(out, K: tl.constexpr):
    c: tl.constexpr = tl.cdiv(K, 3) % 101
    if c > 50:
        tl.store(out, 1)
    else:
        tl.store(out, c // 2)


@triton.jit
def stored_kernel(out, K: tl.constexpr):
    c: tl.constexpr = tl.program_id(0) + K
    tl.store(out, c)
