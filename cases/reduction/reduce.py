"""Reductions and scans along one axis of a block, or over all of it."""

import triton
import triton.language as tl


@triton.jit
def reduce_1d_kernel(x, out, OP: tl.constexpr, BLOCK: tl.constexpr):
    values = tl.load(x + tl.arange(0, BLOCK))
    if OP == "sum":
        r = tl.sum(values, axis=0)
    elif OP == "max":
        r = tl.max(values, axis=0)
    elif OP == "min":
        r = tl.min(values, axis=0)
    elif OP == "argmax":
        r = tl.argmax(values, axis=0)
    elif OP == "argmin":
        r = tl.argmin(values, axis=0)
    else:
        r = tl.xor_sum(values, axis=0)
    tl.store(out, r)


@triton.jit
def reduce_2d_kernel(x, out, OP: tl.constexpr, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    values = tl.load(x + rows[:, None] * N + columns[None, :])
    if OP == "sum":
        r = tl.sum(values, axis=AXIS)
    elif OP == "max":
        r = tl.max(values, axis=AXIS)
    elif OP == "min":
        r = tl.min(values, axis=AXIS)
    elif OP == "argmax":
        r = tl.argmax(values, axis=AXIS)
    elif OP == "argmin":
        r = tl.argmin(values, axis=AXIS)
    else:
        r = tl.xor_sum(values, axis=AXIS)
    if AXIS == 0:
        tl.store(out + columns, r)
    else:
        tl.store(out + rows, r)


@triton.jit
def keep_dims_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    values = tl.load(x + offsets)
    tl.store(out + offsets, values - tl.max(values, axis=1, keep_dims=True))


@triton.jit
def all_axes_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    values = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out, tl.sum(values))
    tl.store(out + 1, tl.max(values))


@triton.jit
def product(a, b):
    return a * b


@triton.jit
def first_largest(av, ai, bv, bi):
    take = (av > bv) | ((av == bv) & (ai < bi))
    return tl.where(take, av, bv), tl.where(take, ai, bi)


@triton.jit
def scaled(a, b):
    s = 2
    return a + b + s.to(a.dtype)


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def largest(a, b):
    return tl.maximum(a, b)


@triton.jit
def custom_reduce_kernel(x, out, BLOCK: tl.constexpr):
    values = tl.load(x + tl.arange(0, BLOCK))
    tl.store(out, tl.reduce(values, 0, product))


@triton.jit
def custom_literal_kernel(x, out, BLOCK: tl.constexpr):
    values = tl.load(x + tl.arange(0, BLOCK))
    tl.store(out, tl.reduce(values, 0, scaled))


@triton.jit
def custom_pair_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets)
    value, index = tl.reduce((values, offsets), 0, first_largest)
    tl.store(out, value)
    tl.store(out + 1, index)


@triton.jit
def one_tuple_kernel(x, out, BLOCK: tl.constexpr):
    values = tl.load(x + tl.arange(0, BLOCK))
    (z,) = tl.reduce((values,), 0, product)
    tl.store(out, z)


@triton.jit
def negative_axis_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    values = tl.load(x + rows[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out + rows, tl.reduce(values, -1, largest))


@triton.jit
def argmax_kernel(x, out, LEFT: tl.constexpr, BLOCK: tl.constexpr):
    values = tl.load(x + tl.arange(0, BLOCK))
    tl.store(out, tl.argmax(values, axis=0, tie_break_left=LEFT))


@triton.jit
def argmax_in_range_kernel(x, out, BLOCK: tl.constexpr):
    index = tl.argmax(tl.load(x + tl.arange(0, BLOCK)), axis=0)
    tl.store(out, ((index >= 0) & (index < BLOCK)).to(tl.int32))


@triton.jit
def cumsum_kernel(x, out, REVERSE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.cumsum(tl.load(x + offsets), axis=0, reverse=REVERSE))


@triton.jit
def cumsum_2d_kernel(x, out, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + offsets, tl.cumsum(tl.load(x + offsets), axis=AXIS))


@triton.jit
def cumprod_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.cumprod(tl.load(x + offsets), axis=0))


@triton.jit
def scan_negative_axis_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + offsets, tl.associative_scan(tl.load(x + offsets), -1, add))


@triton.jit
def softmax_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(x + row * n + offsets, mask=mask, other=-float("inf"))
    values = values - tl.max(values, axis=0)
    numerator = tl.exp(values)
    tl.store(out + row * n + offsets, numerator / tl.sum(numerator, axis=0), mask=mask)


@triton.jit
def histogram_kernel(x, out, BLOCK: tl.constexpr, BINS: tl.constexpr):
    values = tl.load(x + tl.arange(0, BLOCK))
    tl.store(out + tl.arange(0, BINS), tl.histogram(values, BINS))


@triton.jit
def histogram_wide_kernel(x, out, BLOCK: tl.constexpr, BINS: tl.constexpr):
    counts = tl.histogram(tl.load(x + tl.arange(0, BLOCK)), BINS)
    tl.store(out + tl.arange(0, BINS), counts.to(tl.int64))


@triton.jit
def histogram_outside_kernel(x, out, BLOCK: tl.constexpr, BINS: tl.constexpr):
    values = tl.load(x + tl.arange(0, BLOCK))
    tl.store(out + tl.arange(0, BINS), tl.histogram(values, BINS).to(tl.int64))
    inside = (values >= 0) & (values < BINS)
    tl.store(out + BINS, tl.sum(inside.to(tl.int64), axis=0))


@triton.jit
def sort_kernel(x, out, DESCENDING: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.sort(tl.load(x + offsets), descending=DESCENDING))


@triton.jit
def arg_any_tie_kernel(x, out, LARGEST: tl.constexpr, BLOCK: tl.constexpr):
    values = tl.load(x + tl.arange(0, BLOCK))
    if LARGEST:
        tl.store(out, tl.argmax(values, axis=0, tie_break_left=False))
    else:
        tl.store(out, tl.argmin(values, axis=0, tie_break_left=False))
