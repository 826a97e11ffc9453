"""Signed integers become unsigned ones of 64 bits, and those become floats."""

import triton
import triton.language as tl


@triton.jit
def scaled_kernel(x, n, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x + at)
    scaled = value.to(tl.uint64) * value.to(tl.float32)
    total = scaled
    turn = 0
    while turn < n:
        total = scaled * total
        turn += 1
    tl.store(out + at, total)
