"""Accesses of the same bytes that programs may make without a barrier."""

import triton
import triton.language as tl


@triton.jit
def update(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    m = i < n
    tl.store(out + i, tl.load(out + i, mask=m) + tl.load(x + i, mask=m), mask=m)


@triton.jit
def accumulate(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    for k in range(3):
        tl.store(out + i, tl.load(out + i) + tl.load(x + i) * k)


@triton.jit
def softmax(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    m = i < n
    row = tl.load(out + i, mask=m, other=-1000000)
    high = tl.max(row, 0)
    low = tl.min(row, 0)
    tl.store(out + i, (row - high) * 2 + low, mask=m)


@triton.jit
def normalise_blocks(x, out, n, N: tl.constexpr):
    # A row in several blocks: all of it is read before any of it is written.
    total = tl.zeros((128,), tl.int32)
    for start in range(0, n, 128):
        i = start + tl.arange(0, 128)
        total += tl.load(out + i, mask=i < n, other=0)
    mean = tl.sum(total, 0) // n
    for start in range(0, n, 128):
        i = start + tl.arange(0, 128)
        v = tl.load(out + i, mask=i < n, other=0)
        tl.store(out + i, v - mean, mask=i < n)


@triton.jit
def swap(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(out + i)
    tl.store(x + i, b)
    tl.store(out + i, a)


@triton.jit
def rope(x, out, n, N: tl.constexpr):
    # Halves of a row, turned into each other in place.
    H: tl.constexpr = N // 2
    i = tl.arange(0, H)
    a, b = tl.load(out + i), tl.load(out + H + i)
    c = tl.load(x + i)
    tl.store(out + i, a * c - b)
    tl.store(out + H + i, b * c + a)


@triton.jit
def backward_in_place(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    m = i < n
    a, b = tl.load(x + i, mask=m, other=0), tl.load(out + i, mask=m, other=0)
    gradient = tl.sum(a * b, 0)
    tl.store(x + i, a * gradient, mask=m)
    tl.store(out + i, b - gradient, mask=m)


@triton.jit
def fill_and_patch(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, 0)
    tl.store(out + i, 1, mask=i < n)


@triton.jit
def counter(x, out, n, N: tl.constexpr):
    for k in range(4):
        tl.store(out, tl.load(out) + k)


@triton.jit
def columns(x, out, n, N: tl.constexpr):
    M: tl.constexpr = 32
    i, j = tl.arange(0, M)[:, None], tl.arange(0, M)[None, :]
    p = out + i * M + j
    for k in range(2):
        tl.store(p, tl.load(p) + k)
