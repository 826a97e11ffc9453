"""Masked loads and stores."""

import triton
import triton.language as tl


@triton.jit
def other_kernel(x, out, n, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n, other=OTHER))


@triton.jit
def scalar_comparison_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    ok = tl.program_id(0) < n
    values = tl.load(x + offsets, mask=ok, other=5)
    tl.store(out + offsets, values, mask=ok)


@triton.jit
def broadcast_mask_kernel(x, out, m, n, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)[:, None]
    columns = tl.arange(0, N)[None, :]
    values = tl.load(x + rows * N + columns, mask=rows < m, other=-1)
    tl.store(out + rows * N + columns, values, mask=columns < n)


@triton.jit
def no_other_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n))


@triton.jit
def masked_pointer_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(x + offsets * 1000000, mask=offsets < 1, other=0)
    tl.store(out + offsets, values + offsets, mask=mask)


@triton.jit
def pipelined_kernel(x, out, n, rounds, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in range(rounds):
        at = i * BLOCK + offsets
        total += tl.load(x + at, mask=at < n, other=0.5)
    tl.store(out + offsets, total)
