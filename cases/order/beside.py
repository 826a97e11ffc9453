import triton
import triton.language as tl


@triton.jit
def beside_kernel(x, out, total):
    pid = tl.program_id(0)
    i = pid * 16 + tl.arange(0, 16)
    v = tl.load(x + i)
    tl.store(out + i, v + v)
    tl.atomic_add(total, tl.sum(v, 0))


@triton.jit
def last_kernel(x, part, count, out, G: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, 16)
    tl.atomic_xchg(part + pid, tl.sum(tl.load(x + pid * 16 + i), 0))
    if tl.atomic_add(count, 1) == G - 1:
        total = 0
        for nth in range(G):
            total += tl.atomic_add(part + nth, 0)
        tl.store(out, total)


@triton.jit
def ticket_kernel(count, out, same):
    pid = tl.program_id(0)
    ticket = tl.atomic_add(count, 1)
    tl.store(out + pid, ticket)
    tl.store(same + pid, pid + 1)


@triton.jit
def masked_kernel(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.exp(tl.load(x + i))
    tl.store(out + i, v, mask=v >= tl.load(y + i))
