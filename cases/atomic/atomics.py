"""Atomic operations, one program and many."""

import triton
import triton.language as tl


@triton.jit
def rmw_kernel(x, y, old, OP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(y + offsets)
    if OP == "add":
        r = tl.atomic_add(x + offsets, values)
    elif OP == "max":
        r = tl.atomic_max(x + offsets, values)
    elif OP == "min":
        r = tl.atomic_min(x + offsets, values)
    elif OP == "and":
        r = tl.atomic_and(x + offsets, values)
    elif OP == "or":
        r = tl.atomic_or(x + offsets, values)
    elif OP == "xor":
        r = tl.atomic_xor(x + offsets, values)
    else:
        r = tl.atomic_xchg(x + offsets, values)
    tl.store(old + offsets, r)


@triton.jit
def count_kernel(counter, n):
    if tl.program_id(0) < n:
        tl.atomic_add(counter, 1)


@triton.jit
def sum_kernel(x, total, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0)
    tl.atomic_add(total, tl.sum(values, axis=0))


@triton.jit
def masked_add_kernel(x, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.atomic_add(x + offsets, 1, mask=offsets < n)


@triton.jit
def masked_result_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    old = tl.atomic_add(x + offsets, 1, mask=offsets < n)
    tl.store(out + offsets, old)


@triton.jit
def scalar_mask_kernel(out, f):
    tl.store(out, 5.0, mask=f > 0)
    tl.atomic_add(out + 1, 5.0, mask=f > 0)


@triton.jit
def cas_kernel(x, out, expected, value):
    tl.store(out, tl.atomic_cas(x, tl.load(expected), tl.load(value)))


@triton.jit
def same_address_kernel(x, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.atomic_add(x + offsets % 4, offsets)


@triton.jit
def atomic_copy_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.atomic_load(x + offsets, mask=offsets < n)
    tl.atomic_store(out + offsets, values, mask=offsets < n)


@triton.jit
def poll_kernel(flags, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    seen = tl.atomic_poll(flags + offsets, 1, timeout_ns=0)
    tl.store(out + offsets, seen.to(tl.int32))
