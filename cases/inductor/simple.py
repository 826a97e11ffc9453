"""Kernels of a line or two, each for one way in which a launch gets its arguments."""

import triton
import triton.language as tl

OFFSET = tl.constexpr(3)


@triton.jit
def twice(x):
    return x * 2


@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def sized_kernel(x, out, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, twice(tl.load(x + i, mask=i < N)), mask=i < N)


@triton.jit
def counted_kernel(x, out, n, N: tl.constexpr, BLOCK: tl.constexpr):
    """The number of elements, as an argument and as a constexpr."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + N, mask=i < n)


@triton.jit
def strided_kernel(x, out, n, S: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i * S, mask=i < n), mask=i < n)


@triton.jit
def block_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, value - tl.max(value, axis=0), mask=i < n)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def add_rows_kernel(
    x, y, out, x_row, y_row, out_row, ROWS: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    inside = (i < COLUMNS) & (row + 0 * i < ROWS)
    total = tl.load(x + row * x_row + i, mask=inside) + tl.load(y + row * y_row + i, mask=inside)
    tl.store(out + row * out_row + i, total, mask=inside)


@triton.jit
def write_both_kernel(a, b, n, m, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(a + i, -1.0, mask=i < n)
    tl.store(b + i, -2.0, mask=i < m)


@triton.jit
def scale_kernel(x, out, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


@triton.jit
def increment_kernel(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 3, mask=i < n)


@triton.jit
def offset_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + OFFSET, mask=i < n)


@triton.jit
def optional_kernel(x, y, out, n, HAS_Y: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    if HAS_Y:
        value += tl.load(y + i, mask=i < n)
    tl.store(out + i, value, mask=i < n)


@triton.jit
def cast_kernel(x, out, n, DTYPE: tl.constexpr, HOW: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    if HOW == "negate":
        value = -value
    tl.store(out + i, value.to(DTYPE), mask=i < n)


@triton.jit
def default_kernel(x, out, n, shift=3, BLOCK: tl.constexpr = 16):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + shift, mask=i < n)


@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def even_kernel(x, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + i, tl.load(x + i))
    else:
        tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def places_kernel(out, BLOCK: tl.constexpr):
    """Which program of how many."""
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    place = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    tl.store(out + place * BLOCK + tl.arange(0, BLOCK), place)
