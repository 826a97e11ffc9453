"""Descriptors of every dtype."""

import triton
import triton.language as tl


@triton.jit
def edge_kernel(desc, out, row, column, BM: tl.constexpr, BN: tl.constexpr):
    rows, columns = tl.arange(0, BM), tl.arange(0, BN)
    tl.store(out + rows[:, None] * BN + columns[None, :], desc.load([row, column]))


@triton.jit
def store_kernel(desc, x, row, column, BM: tl.constexpr, BN: tl.constexpr):
    rows, columns = tl.arange(0, BM), tl.arange(0, BN)
    desc.store([row, column], tl.load(x + rows[:, None] * BN + columns[None, :]))


@triton.jit
def device_kernel(x, out, m, n, row, column, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [m, n], [32, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out, [m, n], [32, 1], [BM, BN])
    target.store([row, column], source.load([row, column]))
