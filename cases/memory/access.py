"""Loads and stores of every dtype, with every hint that they take."""

import triton
import triton.language as tl


@triton.jit
def masked_kernel(x, out, n, HOW: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    mask = i < n
    if HOW == "other_zero":
        tl.store(out + i, tl.load(x + i, mask=mask, other=0))
    elif HOW == "other_one":
        tl.store(out + i, tl.load(x + i, mask=mask, other=1))
    elif HOW == "other_block":
        tl.store(out + i, tl.load(x + i, mask=mask, other=tl.load(x + N + i)))
    elif HOW == "store":
        tl.store(out + i, tl.load(x + i, mask=mask), mask=mask)
    elif HOW == "every_second":
        second = (i % 2 == 0) & mask
        tl.store(out + i, tl.load(x + N - 1 - i, mask=second, other=0), mask=i > 2)
    elif HOW == "scalar_mask":
        tl.store(out + i, tl.load(x + i, mask=n > 3, other=0))
    else:
        tl.store(out, tl.load(x + 1, mask=n > 3, other=0))
        tl.store(out + 1, tl.load(x + 2), mask=n > 3)


@triton.jit
def load_hint_kernel(
    x, out, CACHE: tl.constexpr, EVICT: tl.constexpr, VOLATILE: tl.constexpr, N: tl.constexpr
):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i, cache_modifier=CACHE, eviction_policy=EVICT, volatile=VOLATILE))


@triton.jit
def store_hint_kernel(x, out, CACHE: tl.constexpr, EVICT: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i), cache_modifier=CACHE, eviction_policy=EVICT)


@triton.jit
def block_pointer_kernel(x, out, m, n, PADDING: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0) * BM
    source = tl.make_block_ptr(x, (m, n), (n, 1), (row, 0), (BM, BN), (1, 0))
    target = tl.make_block_ptr(out, (m, BN), (BN, 1), (row, 0), (BM, BN), (1, 0))
    tl.store(target, tl.load(source, boundary_check=(0, 1), padding_option=PADDING), boundary_check=(0,))


@triton.jit
def offset_kernel(x, out, index, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.load(index + i)
    tl.store(out + i, tl.load(x + at))


@triton.jit
def scatter_kernel(x, out, index, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + tl.load(index + i), tl.load(x + i))
