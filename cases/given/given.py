"""Kernels whose results are given in their case files, worked out without Cerith."""

import triton
import triton.language as tl


@triton.jit
def copy_1d(v, out, n0, s0):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(v + i * s0, mask=i < n0), mask=i < n0)


@triton.jit
def copy_2d(v, out, n0, n1, s0, s1):
    i = tl.arange(0, 8)[:, None]
    j = tl.arange(0, 16)[None, :]
    mask = (i < n0) & (j < n1)
    tl.store(out + i * n1 + j, tl.load(v + i * s0 + j * s1, mask=mask), mask=mask)


@triton.jit
def copy_3d(v, out, n0, n1, n2, s0, s1, s2):
    i = tl.arange(0, 8)[:, None, None]
    j = tl.arange(0, 8)[None, :, None]
    k = tl.arange(0, 8)[None, None, :]
    mask = (i < n0) & (j < n1) & (k < n2)
    tl.store(out + (i * n1 + j) * n2 + k, tl.load(v + i * s0 + j * s1 + k * s2, mask=mask), mask=mask)


@triton.jit
def number_1d(v, n0, s0):
    i = tl.arange(0, 16)
    tl.store(v + i * s0, i + 50, mask=i < n0)


@triton.jit
def number_2d(v, n0, n1, s0, s1):
    i = tl.arange(0, 8)[:, None]
    j = tl.arange(0, 16)[None, :]
    tl.store(v + i * s0 + j * s1, i * n1 + j + 50, mask=(i < n0) & (j < n1))


@triton.jit
def number_3d(v, n0, n1, n2, s0, s1, s2):
    i = tl.arange(0, 8)[:, None, None]
    j = tl.arange(0, 8)[None, :, None]
    k = tl.arange(0, 8)[None, None, :]
    mask = (i < n0) & (j < n1) & (k < n2)
    tl.store(v + i * s0 + j * s1 + k * s2, (i * n1 + j) * n2 + k + 50, mask=mask)


@triton.jit
def store_scalar(v, value):
    tl.store(v, value)


@triton.jit
def cast_to(x, out, DTYPE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(DTYPE))


@triton.jit
def counts(out, START: tl.constexpr, STOP: tl.constexpr, STEP: tl.constexpr):
    place = 0
    for i in range(START, STOP, STEP):
        tl.store(out + place, i)
        place += 1


@triton.jit
def counts_between(out, start, stop, STEP: tl.constexpr):
    place = 0
    for i in range(start, stop, STEP):
        tl.store(out + place, i)
        place += 1


@triton.jit
def counts_unrolled(out, START: tl.constexpr, STOP: tl.constexpr, STEP: tl.constexpr):
    place = 0
    for i in tl.static_range(START, STOP, STEP):
        tl.store(out + place, i)
        place += 1


@triton.jit
def counts_while(out, start, stop, step):
    place = 0
    i = start
    while i < stop:
        tl.store(out + place, i)
        place += 1
        i += step


@triton.jit
def carries_two(out, n):
    a = 1
    b = 10
    for i in range(n):
        a = a + 1
        b = b + a
    tl.store(out, a)
    tl.store(out + 1, b)


@triton.jit
def block_2d(x, N0: tl.constexpr, N1: tl.constexpr):
    return tl.load(x + tl.arange(0, N0)[:, None] * N1 + tl.arange(0, N1)[None, :])


@triton.jit
def store_2d(out, block, N0: tl.constexpr, N1: tl.constexpr):
    tl.store(out + tl.arange(0, N0)[:, None] * N1 + tl.arange(0, N1)[None, :], block)


@triton.jit
def block_3d(x, N0: tl.constexpr, N1: tl.constexpr, N2: tl.constexpr):
    i = tl.arange(0, N0)[:, None, None]
    j = tl.arange(0, N1)[None, :, None]
    k = tl.arange(0, N2)[None, None, :]
    return tl.load(x + (i * N1 + j) * N2 + k)


@triton.jit
def store_3d(out, block, N0: tl.constexpr, N1: tl.constexpr, N2: tl.constexpr):
    i = tl.arange(0, N0)[:, None, None]
    j = tl.arange(0, N1)[None, :, None]
    k = tl.arange(0, N2)[None, None, :]
    tl.store(out + (i * N1 + j) * N2 + k, block)


@triton.jit
def gather_1d(x, index, out, N0: tl.constexpr, M0: tl.constexpr, AXIS: tl.constexpr):
    i = tl.arange(0, M0)
    tl.store(out + i, tl.gather(tl.load(x + tl.arange(0, N0)), tl.load(index + i), AXIS))


@triton.jit
def gather_2d(
    x, index, out, N0: tl.constexpr, N1: tl.constexpr, M0: tl.constexpr, M1: tl.constexpr, AXIS: tl.constexpr
):
    store_2d(out, tl.gather(block_2d(x, N0, N1), block_2d(index, M0, M1), AXIS), M0, M1)


@triton.jit
def gather_3d(
    x,
    index,
    out,
    N0: tl.constexpr,
    N1: tl.constexpr,
    N2: tl.constexpr,
    M0: tl.constexpr,
    M1: tl.constexpr,
    M2: tl.constexpr,
    AXIS: tl.constexpr,
):
    store_3d(out, tl.gather(block_3d(x, N0, N1, N2), block_3d(index, M0, M1, M2), AXIS), M0, M1, M2)


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def last(a, b):
    return b + a * 0


@triton.jit
def first(a, b):
    return a + b * 0


@triton.jit
def scanned(x, AXIS: tl.constexpr, FN: tl.constexpr, REVERSE: tl.constexpr):
    y = x
    if FN == "add":
        y = tl.associative_scan(x, AXIS, add, reverse=REVERSE)
    elif FN == "first":
        y = tl.associative_scan(x, AXIS, first, reverse=REVERSE)
    else:
        y = tl.associative_scan(x, AXIS, last, reverse=REVERSE)
    return y


@triton.jit
def scan_1d(x, out, N0: tl.constexpr, AXIS: tl.constexpr, FN: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, N0)
    tl.store(out + i, scanned(tl.load(x + i), AXIS, FN, REVERSE))


@triton.jit
def scan_2d(
    x, out, N0: tl.constexpr, N1: tl.constexpr, AXIS: tl.constexpr, FN: tl.constexpr, REVERSE: tl.constexpr
):
    store_2d(out, scanned(block_2d(x, N0, N1), AXIS, FN, REVERSE), N0, N1)


@triton.jit
def scan_3d(
    x,
    out,
    N0: tl.constexpr,
    N1: tl.constexpr,
    N2: tl.constexpr,
    AXIS: tl.constexpr,
    FN: tl.constexpr,
    REVERSE: tl.constexpr,
):
    store_3d(out, scanned(block_3d(x, N0, N1, N2), AXIS, FN, REVERSE), N0, N1, N2)


@triton.jit
def reduced(x, AXIS: tl.constexpr, FN: tl.constexpr):
    if FN == "add":
        y = tl.reduce(x, AXIS, add)
    elif FN == "first":
        y = tl.reduce(x, AXIS, first)
    else:
        y = tl.reduce(x, AXIS, last)
    return y


@triton.jit
def reduce_2d(
    x, out, N0: tl.constexpr, N1: tl.constexpr, AXIS: tl.constexpr, FN: tl.constexpr, LEFT: tl.constexpr
):
    tl.store(out + tl.arange(0, LEFT), reduced(block_2d(x, N0, N1), AXIS, FN))


@triton.jit
def reduce_3d(
    x,
    out,
    N0: tl.constexpr,
    N1: tl.constexpr,
    N2: tl.constexpr,
    AXIS: tl.constexpr,
    FN: tl.constexpr,
    L0: tl.constexpr,
    L1: tl.constexpr,
):
    store_2d(out, reduced(block_3d(x, N0, N1, N2), AXIS, FN), L0, L1)


@triton.jit
def reduce_kept_3d(
    x,
    out,
    N0: tl.constexpr,
    N1: tl.constexpr,
    N2: tl.constexpr,
    AXIS: tl.constexpr,
    L0: tl.constexpr,
    L1: tl.constexpr,
    L2: tl.constexpr,
):
    store_3d(out, tl.sum(block_3d(x, N0, N1, N2), AXIS, keep_dims=True), L0, L1, L2)


@triton.jit
def argmax_2d(x, out, N0: tl.constexpr, N1: tl.constexpr, AXIS: tl.constexpr, LEFT: tl.constexpr):
    tl.store(out + tl.arange(0, LEFT), tl.argmax(block_2d(x, N0, N1), AXIS))


@triton.jit
def sort_2d(x, out, N0: tl.constexpr, N1: tl.constexpr, DESCENDING: tl.constexpr):
    store_2d(out, tl.sort(block_2d(x, N0, N1), descending=DESCENDING), N0, N1)


@triton.jit
def permute_3d(
    x,
    out,
    N0: tl.constexpr,
    N1: tl.constexpr,
    N2: tl.constexpr,
    A: tl.constexpr,
    B: tl.constexpr,
    C: tl.constexpr,
    M0: tl.constexpr,
    M1: tl.constexpr,
    M2: tl.constexpr,
):
    store_3d(out, tl.permute(block_3d(x, N0, N1, N2), A, B, C), M0, M1, M2)


@triton.jit
def trans_2d(x, out, N0: tl.constexpr, N1: tl.constexpr):
    store_2d(out, tl.trans(block_2d(x, N0, N1)), N1, N0)


@triton.jit
def broadcast_row(x, y, out, N: tl.constexpr):
    store_2d(out, block_2d(x, N, N) + tl.load(y + tl.arange(0, N)), N, N)


@triton.jit
def expand_at(x, out, AXIS: tl.constexpr, N: tl.constexpr):
    block = tl.expand_dims(tl.load(x + tl.arange(0, N)), AXIS)
    store_2d(out, tl.broadcast_to(block, [N, N]), N, N)


@triton.jit
def join_and_split(x, y, joined, left, right, N: tl.constexpr):
    i = tl.arange(0, N)
    both = tl.join(tl.load(x + i), tl.load(y + i))
    store_2d(joined, both, N, 2)
    a, b = tl.split(both)
    tl.store(left + i, a)
    tl.store(right + i, b)


@triton.jit
def histogram_of(x, out, N: tl.constexpr, BINS: tl.constexpr):
    tl.store(out + tl.arange(0, BINS), tl.histogram(tl.load(x + tl.arange(0, N)), BINS))


@triton.jit
def grid_ids(out):
    x = tl.program_id(0)
    y = tl.program_id(1)
    z = tl.program_id(2)
    nx = tl.num_programs(0)
    ny = tl.num_programs(1)
    tl.store(out + (z * ny + y) * nx + x, z * 100 + y * 10 + x)


@triton.jit
def numbers(out, a, b, c, d):
    tl.store(out, a.to(tl.int64))
    tl.store(out + 1, b.to(tl.int64))
    tl.store(out + 2, c.to(tl.int64))
    tl.store(out + 3, d.to(tl.int64))


@triton.jit
def floats(out, a, b):
    tl.store(out, a)
    tl.store(out + 1, b)


@triton.jit
def constant_arithmetic(out, A: tl.constexpr, B: tl.constexpr):
    tl.store(out, A // B)
    tl.store(out + 1, A % B)
    tl.store(out + 2, -A // B)
    tl.store(out + 3, -A % B)


@triton.jit
def integer_arithmetic(out, a, b):
    tl.store(out, a // b)
    tl.store(out + 1, a % b)
    tl.store(out + 2, -a // b)
    tl.store(out + 3, -a % b)
    tl.store(out + 4, -a >> 1)


@triton.jit
def between(x, out, LOW: tl.constexpr, HIGH: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.store(out + i, (value > LOW) & (value < HIGH))


@triton.jit
def chained(out, a, b, c):
    if a < b < c:
        tl.store(out, 1)
    if a < c < b:
        tl.store(out + 1, 1)
    if b < c < a:
        tl.store(out + 2, 1)


@triton.jit
def unsigned_offset(x, index, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + tl.load(index + i)))


@triton.jit
def back_from_end(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + n - 1 - i))


@triton.jit
def store_then_load(a, b, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(a + i, i + 70)
    tl.debug_barrier()
    tl.store(out + i, tl.load(b + i))


@triton.jit
def store_then_load_scalar(a, b, out):
    tl.store(a, 71)
    tl.debug_barrier()
    tl.store(out, tl.load(b))


@triton.jit
def masked_with_other(x, out, n, OTHER: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=OTHER))


@triton.jit
def masked_evenly(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i, mask=i % 2 == 0, other=-5), mask=i % 3 != 0)


@triton.jit
def atomics(cell, out, value, N: tl.constexpr):
    tl.store(out, tl.atomic_add(cell, value))
    tl.store(out + 1, tl.atomic_max(cell, value + 40))
    tl.store(out + 2, tl.atomic_min(cell, value))
    tl.store(out + 3, tl.atomic_xchg(cell, value + 7))
    tl.store(out + 4, tl.atomic_cas(cell, value, value + 1))
    tl.store(out + 5, tl.atomic_cas(cell, value + 7, value + 9))


@triton.jit
def unsigned_extremes(cells, out, value):
    tl.store(out, tl.atomic_max(cells, value.to(tl.uint32)))
    tl.store(out + 1, tl.atomic_min(cells + 1, value.to(tl.uint32)))


@triton.jit
def dot_square(a, b, c, out, N: tl.constexpr):
    store_2d(out, tl.dot(block_2d(a, N, N), block_2d(b, N, N), block_2d(c, N, N)), N, N)


@triton.jit
def add_at(x, at, value):
    tl.store(x + at, tl.load(x + at) + value)


@triton.jit
def store_as(x, at, DTYPE: tl.constexpr):
    tl.store((x + at).to(tl.pointer_type(DTYPE)), 7)


@triton.jit
def load_one(x, out, at):
    tl.store(out, tl.load(x + at))


@triton.jit
def lanes_meet(out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i // 2, i)
