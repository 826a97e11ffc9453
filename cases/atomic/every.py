"""Every atomic, for every dtype, order and scope that it takes."""

import triton
import triton.language as tl


@triton.jit
def rmw(pointer, values, mask, OP: tl.constexpr, SEM: tl.constexpr, SCOPE: tl.constexpr):
    if OP == "add":
        r = tl.atomic_add(pointer, values, mask=mask, sem=SEM, scope=SCOPE)
    elif OP == "max":
        r = tl.atomic_max(pointer, values, mask=mask, sem=SEM, scope=SCOPE)
    elif OP == "min":
        r = tl.atomic_min(pointer, values, mask=mask, sem=SEM, scope=SCOPE)
    elif OP == "and":
        r = tl.atomic_and(pointer, values, mask=mask, sem=SEM, scope=SCOPE)
    elif OP == "or":
        r = tl.atomic_or(pointer, values, mask=mask, sem=SEM, scope=SCOPE)
    elif OP == "xor":
        r = tl.atomic_xor(pointer, values, mask=mask, sem=SEM, scope=SCOPE)
    else:
        r = tl.atomic_xchg(pointer, values, mask=mask, sem=SEM, scope=SCOPE)
    return r


@triton.jit
def masked_kernel(x, y, old, n, OP: tl.constexpr, SEM: tl.constexpr, SCOPE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    r = rmw(x + i, tl.load(y + i), i < n, OP, SEM, SCOPE)
    tl.store(old + i, r, mask=i < n)


@triton.jit
def scalar_kernel(x, y, old, OP: tl.constexpr):
    tl.store(old, rmw(x, tl.load(y), None, OP, None, None))


@triton.jit
def cas_kernel(x, expected, value, old, SEM: tl.constexpr, SCOPE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    r = tl.atomic_cas(x + i, tl.load(expected + i), tl.load(value + i), sem=SEM, scope=SCOPE)
    tl.store(old + i, r)


@triton.jit
def many_kernel(x, y, OP: tl.constexpr, N: tl.constexpr):
    value = tl.load(y + tl.program_id(0))
    rmw(x + tl.program_id(0) % N, value, None, OP, None, None)


@triton.jit
def method_kernel(x, y, old, OP: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    place = x + i
    values = tl.load(y + i)
    if OP == "add":
        r = place.atomic_add(values)
    elif OP == "max":
        r = place.atomic_max(values)
    elif OP == "min":
        r = place.atomic_min(values)
    elif OP == "and":
        r = place.atomic_and(values)
    elif OP == "or":
        r = place.atomic_or(values)
    elif OP == "xor":
        r = place.atomic_xor(values)
    elif OP == "xchg":
        r = place.atomic_xchg(values)
    else:
        r = place.atomic_cas(values, values)
    tl.store(old + i, r)


@triton.jit
def load_store_kernel(x, out, SEM: tl.constexpr, STORE: tl.constexpr, SCOPE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_store(out + i, tl.atomic_load(x + i, sem=SEM, scope=SCOPE), sem=STORE, scope=SCOPE)
