"""Tensor descriptors that kernels make."""

import triton
import triton.language as tl


@triton.jit
def copy_kernel(x, out, m, n, stride, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [m, n], [stride, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out, [m, n], [stride, 1], [BM, BN])
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    target.store([row, column], source.load([row, column]))


@triton.jit
def load_kernel(x, out, m, n, s0: tl.constexpr, row, column, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [m, n], [s0, 1], [BM, BN])
    rows, columns = tl.arange(0, BM), tl.arange(0, BN)
    tl.store(out + rows[:, None] * BN + columns[None, :], source.load([row, column]))


@triton.jit
def constant_offset_kernel(x, out, n, OFFSET: tl.constexpr, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [n], [1], [BLOCK])
    tl.store(out + tl.arange(0, BLOCK), source.load([OFFSET]))


@triton.jit
def pad_kernel(x, out, n, offset, BLOCK: tl.constexpr, PADDING: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [n], [1], [BLOCK], padding_option=PADDING)
    tl.store(out + tl.arange(0, BLOCK), source.load([offset]))


@triton.jit
def three_dimensions_kernel(x, out, d0, d1, d2, s0, s1, B0: tl.constexpr, B1: tl.constexpr, B2: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [d0, d1, d2], [s0, s1, 1], [B0, B1, B2])
    block = source.load([0, 0, 0])
    i, j, k = tl.arange(0, B0), tl.arange(0, B1), tl.arange(0, B2)
    at = i[:, None, None] * (B1 * B2) + j[None, :, None] * B2 + k[None, None, :]
    tl.store(out + at, block)


@triton.jit
def last_stride_kernel(x, out, m, n, s0, s1, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [m, n], [s0, s1], [BM, BN])
    rows, columns = tl.arange(0, BM), tl.arange(0, BN)
    tl.store(out + rows[:, None] * BN + columns[None, :], source.load([0, 0]))


@triton.jit
def store_cast_kernel(x, out, BLOCK: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [BLOCK], [1], [BLOCK])
    target.store([0], tl.load(x + tl.arange(0, BLOCK)))


@triton.jit
def pipelined_copy_kernel(x, out, n, BLOCK: tl.constexpr, SPLIT: tl.constexpr):
    offset = tl.program_id(0) * SPLIT
    size = min(SPLIT, n - offset)
    for _ in tl.range(0, size, BLOCK, num_stages=3):
        block = tl.make_tensor_descriptor(x, [n], [1], [BLOCK]).load([offset])
        tl.make_tensor_descriptor(out, [n], [1], [BLOCK]).store([offset], block)
        offset += BLOCK


@triton.jit
def row(x, n, i, stride, BLOCK: tl.constexpr):
    return tl.make_tensor_descriptor(x + i * stride, [n], [1], [BLOCK])


@triton.jit
def copied(source, target, at):
    target.store([at], source.load([at]))


@triton.jit
def through_calls_kernel(x, out, m, n, stride, BLOCK: tl.constexpr):
    source = row(x, n, 0, stride, BLOCK)
    target = row(out, n, 0, stride, BLOCK)
    for i in range(m):
        for at in range(0, n, BLOCK):
            copied(source, target, at)
        source = row(x, n, i + 1, stride, BLOCK)
        target = row(out, n, i + 1, stride, BLOCK)
