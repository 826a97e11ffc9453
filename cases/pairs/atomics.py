"""Atomics as methods of a pointer, and those that load and store: one branch for each."""

import triton
import triton.language as tl


@triton.jit
def updated(x, y, z, out, OP: tl.constexpr):
    i = tl.arange(0, 16)
    p = x + i
    a = tl.load(y + i)
    b = tl.load(z + i)
    if OP == "cas":
        r = p.atomic_cas(a, b)
    elif OP == "add":
        r = p.atomic_add(a)
    elif OP == "and":
        r = p.atomic_and(a)
    elif OP == "or":
        r = p.atomic_or(a)
    elif OP == "xor":
        r = p.atomic_xor(a)
    elif OP == "max":
        r = p.atomic_max(a)
    elif OP == "min":
        r = p.atomic_min(a)
    elif OP == "xchg":
        r = p.atomic_xchg(a)
    elif OP == "load":
        r = p.atomic_load()
    elif OP == "store":
        p.atomic_store(a)
        r = b
    elif OP == "load_function":
        r = tl.atomic_load(p)
    elif OP == "store_function":
        tl.atomic_store(p, a)
        r = b
    tl.store(out + i, r)


@triton.jit
def polled(x, out, OP: tl.constexpr):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    if OP == "method":
        (x + i).atomic_poll(a)
    else:
        tl.atomic_poll(x + i, a)
    tl.store(out + i, a)
