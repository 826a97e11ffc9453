from __future__ import annotations

import triton
import triton.language as tl

STEP = tl.constexpr(20)


@triton.jit
def shift(x):
    return x + 1


@triton.jit
def conflicting(x):
    return x + STEP
