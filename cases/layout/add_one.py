"""Adds one to every element of a strided block, in place or out of place."""

import triton
import triton.language as tl


@triton.jit
def add_one_kernel(
    ptr,
    stride_0,
    stride_1,
    block_size_0,
    block_size_1,
    BLOCK_SIZE_0: tl.constexpr,
    BLOCK_SIZE_1: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_SIZE_0 + tl.arange(0, BLOCK_SIZE_0)
    columns = tl.program_id(1) * BLOCK_SIZE_1 + tl.arange(0, BLOCK_SIZE_1)
    mask = (rows < block_size_0)[:, None] & (columns < block_size_1)[None, :]
    pointers = ptr + rows[:, None] * stride_0 + columns[None, :] * stride_1
    values = tl.load(pointers, mask=mask)
    tl.store(pointers, values + 1, mask=mask)


@triton.jit
def copy_add_one_kernel(
    src,
    dst,
    src_stride_0,
    src_stride_1,
    dst_stride_0,
    dst_stride_1,
    n_rows,
    n_columns,
    BLOCK_SIZE_0: tl.constexpr,
    BLOCK_SIZE_1: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_SIZE_0 + tl.arange(0, BLOCK_SIZE_0)[:, None]
    columns = tl.program_id(1) * BLOCK_SIZE_1 + tl.arange(0, BLOCK_SIZE_1)[None, :]
    mask = (rows < n_rows) & (columns < n_columns)
    values = tl.load(src + rows * src_stride_0 + columns * src_stride_1, mask=mask)
    tl.store(dst + rows * dst_stride_0 + columns * dst_stride_1, values + 1, mask=mask)


@triton.jit
def add_one_1d_kernel(ptr, stride, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(ptr + offsets * stride, mask=mask)
    tl.store(ptr + offsets * stride, values + 1, mask=mask)


@triton.jit
def copy_1d_kernel(src, dst, src_stride, dst_stride, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(src + offsets * src_stride, mask=mask)
    tl.store(dst + offsets * dst_stride, values, mask=mask)


@triton.jit
def copy_2d_kernel(
    src,
    dst,
    src_stride_0,
    src_stride_1,
    dst_stride_0,
    dst_stride_1,
    n_rows,
    n_columns,
    BLOCK_SIZE_0: tl.constexpr,
    BLOCK_SIZE_1: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_SIZE_0 + tl.arange(0, BLOCK_SIZE_0)[:, None]
    columns = tl.program_id(1) * BLOCK_SIZE_1 + tl.arange(0, BLOCK_SIZE_1)[None, :]
    mask = (rows < n_rows) & (columns < n_columns)
    values = tl.load(src + rows * src_stride_0 + columns * src_stride_1, mask=mask)
    tl.store(dst + rows * dst_stride_0 + columns * dst_stride_1, values, mask=mask)
