"""Every reduction, scan and sort, for every dtype."""

import triton
import triton.language as tl


@triton.jit
def reduce_kernel(
    x, out, OP: tl.constexpr, AXIS: tl.constexpr, KEEP: tl.constexpr, M: tl.constexpr, N: tl.constexpr
):
    rows = tl.arange(0, M)[:, None]
    columns = tl.arange(0, N)[None, :]
    values = tl.load(x + rows * N + columns)
    if OP == "sum":
        r = tl.sum(values, axis=AXIS, keep_dims=KEEP)
    elif OP == "max":
        r = tl.max(values, axis=AXIS, keep_dims=KEEP)
    elif OP == "min":
        r = tl.min(values, axis=AXIS, keep_dims=KEEP)
    elif OP == "argmax":
        r = tl.argmax(values, axis=AXIS, keep_dims=KEEP)
    elif OP == "argmin":
        r = tl.argmin(values, axis=AXIS, keep_dims=KEEP)
    else:
        r = tl.xor_sum(values, axis=AXIS, keep_dims=KEEP)
    if not KEEP:
        if AXIS is None:
            tl.store(out, r)
        else:
            tl.store(out + (tl.arange(0, N) if AXIS == 0 else tl.arange(0, M)), r)
    elif AXIS is None:
        tl.store(out + tl.arange(0, 1)[:, None] + tl.arange(0, 1)[None, :], r)
    elif AXIS == 0:
        tl.store(out + columns, r)
    else:
        tl.store(out + rows, r)


@triton.jit
def reduce_or_kernel(x, out, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    values = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out + (tl.arange(0, N) if AXIS == 0 else tl.arange(0, M)), tl.reduce_or(values, AXIS))


@triton.jit
def indices_kernel(x, value, index, OP: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    values = tl.load(x + rows[:, None] * N + tl.arange(0, N)[None, :])
    if OP == "max":
        v, i = tl.max(values, axis=1, return_indices=True)
    else:
        v, i = tl.min(values, axis=1, return_indices=True)
    tl.store(value + rows, v)
    tl.store(index + rows, i)


@triton.jit
def sum_dtype_kernel(x, out, DTYPE: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    values = tl.load(x + rows[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out + rows, tl.sum(values, axis=1, dtype=DTYPE))


@triton.jit
def product(a, b):
    return a * b


@triton.jit
def farther(a, b):
    return tl.where(a < b, b, a)


@triton.jit
def both(value_a, count_a, value_b, count_b):
    return value_a + value_b, count_a + count_b


@triton.jit
def product_kernel(x, out, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    values = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out + (tl.arange(0, N) if AXIS == 0 else tl.arange(0, M)), tl.reduce(values, AXIS, product))


@triton.jit
def farther_kernel(x, out, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    values = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out + (tl.arange(0, N) if AXIS == 0 else tl.arange(0, M)), tl.reduce(values, AXIS, farther))


@triton.jit
def both_kernel(x, out, count, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    values = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    v, n = tl.reduce((values, tl.full((M, N), 1, tl.int64)), AXIS, both)
    kept = tl.arange(0, N) if AXIS == 0 else tl.arange(0, M)
    tl.store(out + kept, v)
    tl.store(count + kept, n)


@triton.jit
def scan_kernel(
    x, out, OP: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr, M: tl.constexpr, N: tl.constexpr
):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    values = tl.load(x + offsets)
    if OP == "cumsum":
        r = tl.cumsum(values, axis=AXIS, reverse=REVERSE)
    elif OP == "cumprod":
        r = tl.cumprod(values, axis=AXIS, reverse=REVERSE)
    else:
        r = tl.associative_scan(values, AXIS, farther, reverse=REVERSE)
    tl.store(out + offsets, r)


@triton.jit
def cumsum_dtype_kernel(x, out, DTYPE: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out + offsets, tl.cumsum(tl.load(x + offsets), axis=0, dtype=DTYPE))


@triton.jit
def pair_scan_kernel(x, out, count, REVERSE: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    ones = tl.full((N,), 1, tl.int64)
    v, n = tl.associative_scan((tl.load(x + offsets), ones), 0, both, reverse=REVERSE)
    tl.store(out + offsets, v)
    tl.store(count + offsets, n)


@triton.jit
def sort_kernel(x, out, DESCENDING: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + offsets, tl.sort(tl.load(x + offsets), 1, descending=DESCENDING))


@triton.jit
def topk_kernel(x, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.arange(0, M)[:, None]
    values = tl.load(x + rows * N + tl.arange(0, N)[None, :])
    tl.store(out + rows * K + tl.arange(0, K)[None, :], tl.topk(values, K, 1))


@triton.jit
def topk_smallest_kernel(x, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.arange(0, M)[:, None]
    values = tl.load(x + rows * N + tl.arange(0, N)[None, :])
    tl.store(out + rows * K + tl.arange(0, K)[None, :], tl.topk(values, K, 1, descending=False))


@triton.jit
def bitonic_merge_kernel(x, out, DESCENDING: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out + offsets, tl.bitonic_merge(tl.load(x + offsets), 0, descending=DESCENDING))


@triton.jit
def histogram_kernel(x, out, n, MASKED: tl.constexpr, N: tl.constexpr, BINS: tl.constexpr):
    offsets = tl.arange(0, N)
    values = tl.load(x + offsets)
    if MASKED:
        counts = tl.histogram(values, BINS, mask=offsets < n)
    else:
        counts = tl.histogram(values, BINS)
    tl.store(out + tl.arange(0, BINS), counts)
