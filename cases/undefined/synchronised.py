"""Programs that order each other through memory, with all that it takes and with less."""

import triton
import triton.language as tl


@triton.jit
def last_to_arrive(
    x, part, counter, out, SEM: tl.constexpr, ORDERED: tl.constexpr, G: tl.constexpr, N: tl.constexpr
):
    pid = tl.program_id(0)
    i = tl.arange(0, N)
    tl.store(part + pid * N + i, tl.load(x + pid * N + i) * 2)
    if ORDERED:
        tl.debug_barrier()
    arrived = tl.atomic_add(counter, 1, sem=SEM)
    if arrived == G - 1:
        total = tl.zeros((N,), tl.int32)
        for k in range(G):
            total += tl.load(part + k * N + i)
        tl.store(out + i, total)
        tl.store(counter, 0)


@triton.jit
def lock(x, part, counter, out, SEM: tl.constexpr, ORDERED: tl.constexpr, G: tl.constexpr, N: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, N)
    v = tl.load(x + pid * N + i)
    while tl.atomic_cas(counter, 0, 1, sem=SEM) == 1:
        pass
    tl.store(out + i, tl.load(out + i) + v)
    if ORDERED:
        tl.debug_barrier()
    tl.atomic_xchg(counter, 0, sem=SEM)
