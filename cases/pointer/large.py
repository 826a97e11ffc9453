"""Offsets into storages that are larger than 32 bits reach."""

import triton
import triton.language as tl


@triton.jit
def copy_rows_kernel(x, out, stride, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    start = row.to(tl.int64) * stride if WIDE else row * stride
    tl.store(out + row * BLOCK + columns, tl.load(x + start + columns))


@triton.jit
def scatter_kernel(x, distance, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    tl.store(x + row * distance + columns, (row + columns).to(tl.int8))


@triton.jit
def count_kernel(counters, distance, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK).to(tl.int64)
    tl.atomic_add(counters + lanes * distance, 1 + tl.program_id(0))


@triton.jit
def collect_kernel(x, out, distance, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK).to(tl.int64)
    tl.store(out + lanes, tl.load(x + lanes * distance))
