"""Where the largest or least element of a block lies, once the block has another shape."""

import triton
import triton.language as tl


@triton.jit
def largest_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    block = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out, tl.argmax(tl.reshape(block, [M * N]), axis=0))


@triton.jit
def least_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    block = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out, tl.argmin(tl.reshape(block, [M * N]), axis=0))
