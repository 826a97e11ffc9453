"""Philox and the functions that use it, for every dtype of seed and offset."""

import triton
import triton.language as tl


@triton.jit
def one_kernel(seeds, offsets, out, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    seed = tl.load(seeds)
    offset = tl.load(offsets + i)
    if F == "rand":
        r = tl.rand(seed, offset)
    elif F == "randn":
        r = tl.randn(seed, offset)
    else:
        r = tl.randint(seed, offset)
    tl.store(out + i, r)


@triton.jit
def four_kernel(seeds, offsets, out, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    seed = tl.load(seeds)
    offset = tl.load(offsets + i)
    if F == "rand4x":
        a, b, c, d = tl.rand4x(seed, offset)
    elif F == "randn4x":
        a, b, c, d = tl.randn4x(seed, offset)
    else:
        a, b, c, d = tl.randint4x(seed, offset)
    tl.store(out + i, a)
    tl.store(out + N + i, b)
    tl.store(out + 2 * N + i, c)
    tl.store(out + 3 * N + i, d)


@triton.jit
def philox_kernel(seeds, counters, out, ROUNDS: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    c = tl.load(counters + i)
    a, b, d, e = tl.philox(tl.load(seeds), c, c + 1, c * 3, c ^ c, n_rounds=ROUNDS)
    tl.store(out + i, a)
    tl.store(out + N + i, b)
    tl.store(out + 2 * N + i, d)
    tl.store(out + 3 * N + i, e)


@triton.jit
def argument_kernel(out, seed, F: tl.constexpr, ROUNDS: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    if F == "rand":
        r = tl.rand(seed, i, n_rounds=ROUNDS)
    elif F == "randn":
        r = tl.randn(seed, i, n_rounds=ROUNDS)
    else:
        r = tl.randint(seed, i, n_rounds=ROUNDS)
    tl.store(out + i, r)


@triton.jit
def uniform_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.uint_to_uniform_float(tl.load(x + i)))


@triton.jit
def normal_kernel(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.pair_uniform_to_normal(tl.load(x + i), tl.load(y + i))
    tl.store(out + i, a)
    tl.store(out + N + i, b)
