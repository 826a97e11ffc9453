"""Integer arithmetic on loop indices, which compiled mode does in 32 bits with C's rules."""

import triton
import triton.language as tl


@triton.jit
def divide_kernel(out, start, stop, D: tl.constexpr):
    for i in range(start, stop):
        tl.store(out + (i - start), i // D)
        tl.store(out + (stop - start) + (i - start), i % D)


@triton.jit
def divide_literal_range_kernel(out):
    for i in range(-4, 4):
        tl.store(out + i + 4, i // 3)
        tl.store(out + i + 12, i % 3)


@triton.jit
def wrap_kernel(out, start, stop):
    for i in range(start, stop):
        tl.store(out + (i - start), i * i * i)


@triton.jit
def wrap_literal_range_kernel(out):
    for i in range(2000, 2002):
        tl.store(out + (i - 2000), i * i * i)


@triton.jit
def shift_literal_range_kernel(out):
    for i in range(0, 3):
        tl.store(out + i, (i + 1) << 30)


@triton.jit
def static_range_kernel(out, N: tl.constexpr):
    for i in tl.static_range(-N, N):
        tl.store(out + i + N, i // 3)
        tl.store(out + i + 3 * N, i % 3)


@triton.jit
def step_kernel(out, start, stop, STEP: tl.constexpr):
    count = 0
    for i in range(start, stop, STEP):
        tl.store(out + count, i)
        count += 1
    tl.store(out + 31, count)
