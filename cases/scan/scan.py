"""Scans by functions for which the order of operands matters, and scans in places that trouble the compiler."""

import triton
import triton.language as tl


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def recurrence(f_left, x_left, f_right, x_right):
    return f_left * f_right, f_right * x_left + x_right


@triton.jit
def keep_right(a, b):
    return b


@triton.jit
def decay(a, b):
    return a * 0.5 + b


@triton.jit
def recurrence_kernel(f, x, f_out, x_out, REVERSE: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    pair = (tl.load(f + offsets), tl.load(x + offsets))
    a, b = tl.associative_scan(pair, 1, recurrence, reverse=REVERSE)
    tl.store(f_out + offsets, a)
    tl.store(x_out + offsets, b)


@triton.jit
def keep_right_kernel(x, out, AXIS: tl.constexpr, REVERSE: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + offsets, tl.associative_scan(tl.load(x + offsets), AXIS, keep_right, reverse=REVERSE))


@triton.jit
def reverse_by_flip_kernel(f, x, out, N: tl.constexpr):
    offsets = tl.arange(0, N)
    a, b = tl.load(f + offsets), tl.load(x + offsets)
    _, direct = tl.associative_scan((a, b), 0, recurrence, reverse=True)
    _, flipped = tl.associative_scan((tl.flip(a, 0), tl.flip(b, 0)), 0, recurrence)
    tl.store(out + offsets, direct - tl.flip(flipped, 0))


@triton.jit
def cumsum_in_loop_kernel(x, out, rounds, N: tl.constexpr):
    offsets = tl.arange(0, N)
    for i in range(rounds):
        values = tl.load(x + i * N + offsets)
        tl.store(out + i * N + offsets, tl.cumsum(values, axis=0))


@triton.jit
def carried_cumsum_kernel(x, out, rounds, N: tl.constexpr):
    offsets = tl.arange(0, N)
    total = tl.zeros((N,), dtype=tl.int64)
    for i in range(rounds):
        total += tl.cumsum(tl.load(x + i * N + offsets), axis=0)
    tl.store(out + offsets, total)


@triton.jit
def broadcast_kernel(x, out, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)[:, None]
    columns = tl.arange(0, N)[None, :]
    values = tl.broadcast_to(tl.load(x + rows), (M, N))
    tl.store(out + rows * N + columns, tl.associative_scan(values, AXIS, add))


@triton.jit
def short_kernel(x, out, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out + offsets, tl.associative_scan(tl.load(x + offsets), 0, add))


@triton.jit
def negative_axis_decay_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + offsets, tl.associative_scan(tl.load(x + offsets), -1, decay))
