"""Operations that two blocks of a cluster share."""

import triton
import triton.language as tl


@triton.jit
def histogram_kernel(x, out, N: tl.constexpr):
    tl.store(out + tl.arange(0, 4), tl.histogram(tl.load(x + tl.arange(0, N)), 4))


@triton.jit
def row_sum_kernel(x, out, N: tl.constexpr):
    tl.store(out + tl.arange(0, 1), tl.sum(tl.load(x + tl.arange(0, N)[None, :]), axis=1))


@triton.jit
def masked_transpose_kernel(x, out, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x + at)
    tl.store(out + at, tl.trans(value), mask=value > 0)


@triton.jit
def flat_product_kernel(x, out, N: tl.constexpr):
    value = tl.load(x + tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]).to(tl.float16)
    tl.store(out + tl.arange(0, N * N), tl.ravel(tl.dot(value, value)).to(tl.int32))
