"""Accesses of one program to the same bytes: with a barrier between where `ORDERED`, and without one."""

import triton
import triton.language as tl


@triton.jit
def reverse_in_place(x, out, tmp, one, ORDERED: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(out + i)
    if ORDERED:
        tl.debug_barrier()
    tl.store(out + N - 1 - i, v)


@triton.jit
def rotate_in_place(x, out, tmp, one, ORDERED: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    for _ in range(3):
        v = tl.load(out + i)
        if ORDERED:
            tl.debug_barrier()
        tl.store(out + (i + 1) % N, v)
        if ORDERED:
            tl.debug_barrier()


@triton.jit
def first_element(x, out, tmp, one, ORDERED: tl.constexpr, N: tl.constexpr):
    # Every lane loads the first element, and lane 0 stores it.
    i = tl.arange(0, N)
    v = tl.load(out + i * 0)
    if ORDERED:
        tl.debug_barrier()
    tl.store(out + i, v + i + 1)


@triton.jit
def transpose_in_place(x, out, tmp, one, ORDERED: tl.constexpr, N: tl.constexpr):
    M: tl.constexpr = 32
    i, j = tl.arange(0, M)[:, None], tl.arange(0, M)[None, :]
    v = tl.load(out + i * M + j)
    if ORDERED:
        tl.debug_barrier()
    tl.store(out + j * M + i, v)


@triton.jit
def same_lane(x, out, tmp, one, ORDERED: tl.constexpr, N: tl.constexpr):
    # Each lane loads what it stored; what the stride is the compiler does not know.
    M: tl.constexpr = 32
    i, j = tl.arange(0, M)[:, None], tl.arange(0, M)[None, :]
    stride = tl.load(one)
    tl.store(tmp + i + M * j, tl.load(x + i + M * j))
    if ORDERED:
        tl.debug_barrier()
    tl.store(out + i * M + j, tl.load(tmp + i * stride + M * j))


@triton.jit
def narrower_neighbour(x, out, tmp, one, ORDERED: tl.constexpr, N: tl.constexpr):
    # A load takes as many elements a thread as the widest load does, a store only as many as fit 16 bytes.
    i = tl.arange(0, N)
    for k in range(2):
        bytes = tl.load(x.to(tl.pointer_type(tl.int8)) + k * N + i)
        total = tl.load(out + i)
        tl.store(out + i, total + bytes)
        if ORDERED:
            tl.debug_barrier()


@triton.jit
def atomics_of_other_lanes(x, out, tmp, one, ORDERED: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, 0)
    if ORDERED:
        tl.debug_barrier()
    tl.atomic_add(out + (i ^ 1), tl.load(x + i))
