"""Loads and stores through block pointers."""

import triton
import triton.language as tl


@triton.jit
def add_one_kernel(x, out, m, n, BM: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    source = tl.make_block_ptr(x, (m, n), (n, 1), (row, column), (BM, BN), (1, 0))
    target = tl.make_block_ptr(out, (m, n), (n, 1), (row, column), (BM, BN), (1, 0))
    block = tl.load(source, boundary_check=(0, 1), padding_option="zero")
    tl.store(target, block + 1, boundary_check=(0, 1))


@triton.jit
def pad_kernel(x, out, n, offset, BLOCK: tl.constexpr, PADDING: tl.constexpr):
    source = tl.make_block_ptr(x, (n,), (1,), (offset,), (BLOCK,), (0,))
    block = tl.load(source, boundary_check=(0,), padding_option=PADDING)
    tl.store(out + tl.arange(0, BLOCK), block)


@triton.jit
def one_dimension_kernel(x, out, m, n, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_block_ptr(x, (m, n), (n, 1), (0, 0), (BM, BN), (1, 0))
    block = tl.load(source, boundary_check=(1,), padding_option="zero")
    rows, columns = tl.arange(0, BM), tl.arange(0, BN)
    tl.store(out + rows[:, None] * BN + columns[None, :], block)


@triton.jit
def unchecked_kernel(x, out, n, offset, BLOCK: tl.constexpr):
    source = tl.make_block_ptr(x, (n,), (1,), (offset,), (BLOCK,), (0,))
    tl.store(out + tl.arange(0, BLOCK), tl.load(source))


@triton.jit
def undefined_lanes_kernel(x, out, n, BLOCK: tl.constexpr):
    source = tl.make_block_ptr(x, (n,), (1,), (0,), (BLOCK,), (0,))
    block = tl.load(source, boundary_check=(0,))
    tl.store(out + tl.arange(0, BLOCK), block)


@triton.jit
def transpose_kernel(x, out, m, n, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_block_ptr(x, (n, m), (1, n), (0, 0), (BN, BM), (0, 1))
    target = tl.make_block_ptr(out, (n, m), (m, 1), (0, 0), (BN, BM), (1, 0))
    tl.store(target, tl.load(source, boundary_check=(0, 1)), boundary_check=(0, 1))


@triton.jit
def strided_kernel(x, out, d0, d1, d2, s0, s1, s2, B0: tl.constexpr, B1: tl.constexpr, B2: tl.constexpr):
    source = tl.make_block_ptr(x, (d0, d1, d2), (s0, s1, s2), (0, 0, 0), (B0, B1, B2), (2, 1, 0))
    target = tl.make_block_ptr(out, (d0, d1, d2), (d1 * d2, d2, 1), (0, 0, 0), (B0, B1, B2), (2, 1, 0))
    block = tl.load(source, boundary_check=(0, 1, 2), padding_option="zero")
    tl.store(target, block, boundary_check=(0, 1, 2))


@triton.jit
def sum_rows_kernel(x, out, m, n, BM: tl.constexpr, BN: tl.constexpr):
    pointer = tl.make_block_ptr(x, (m, n), (n, 1), (0, 0), (BM, BN), (1, 0))
    for start in range(0, m, BM):
        total = tl.zeros((BM,), dtype=tl.float32)
        inner = pointer
        for _ in range(0, n, BN):
            total += tl.sum(tl.load(inner, boundary_check=(0, 1), padding_option="zero"), axis=1)
            inner = tl.advance(inner, (0, BN))
        rows = start + tl.arange(0, BM)
        tl.store(out + rows, total, mask=rows < m)
        pointer = tl.advance(pointer, (BM, 0))


@triton.jit
def next_block(pointer, step: tl.constexpr):
    return tl.advance(pointer, (step,))


@triton.jit
def through_calls_kernel(x, out, n, backwards, BLOCK: tl.constexpr):
    source = tl.make_block_ptr(x, (n,), (1,), (0,), (BLOCK,), (0,))
    target = tl.make_block_ptr(out, (n,), (1,), (0,), (BLOCK,), (0,))
    if backwards > 0:
        source = next_block(source, BLOCK)
    i = 0
    while i < n:
        block = tl.load(source, boundary_check=(0,), padding_option="zero")
        tl.store(target, block, boundary_check=(0,))
        if backwards > 0:
            source = next_block(source, -BLOCK)
        else:
            source = next_block(source, BLOCK)
        target = next_block(target, BLOCK)
        i += BLOCK


@triton.jit
def matmul_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    left = tl.make_block_ptr(a, (m, k), (k, 1), (row, 0), (BM, BK), (1, 0))
    right = tl.make_block_ptr(b, (k, n), (n, 1), (0, column), (BK, BN), (1, 0))
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, k, BK):
        x = tl.load(left, boundary_check=(0, 1), padding_option="zero")
        y = tl.load(right, boundary_check=(0, 1), padding_option="zero")
        total += tl.dot(x, y)
        left = tl.advance(left, (0, BK))
        right = tl.advance(right, (BK, 0))
    target = tl.make_block_ptr(c, (m, n), (n, 1), (row, column), (BM, BN), (1, 0))
    tl.store(target, total.to(target.dtype.element_ty), boundary_check=(0, 1))


@triton.jit
def store_cast_kernel(x, out, BLOCK: tl.constexpr):
    block = tl.load(x + tl.arange(0, BLOCK))
    target = tl.make_block_ptr(out, (BLOCK,), (1,), (0,), (BLOCK,), (0,))
    tl.store(target, block)


@triton.jit
def wide_offset_kernel(x, out, offset, BLOCK: tl.constexpr):
    source = tl.make_block_ptr(x, (BLOCK * 2,), (1,), (offset.to(tl.int64),), (BLOCK,), (0,))
    tl.store(out + tl.arange(0, BLOCK), tl.load(source))
