"""Control flow that carries values of every dtype."""

import triton
import triton.language as tl


@triton.jit
def loop_kernel(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.load(x + i)
    for step in range(n):
        total = total + tl.load(x + (i + step) % N)
    tl.store(out + i, total)


@triton.jit
def scalar_loop_kernel(x, out, n):
    largest = tl.load(x)
    for step in range(1, n):
        value = tl.load(x + step)
        if value > largest:
            largest = value
    tl.store(out, largest)


@triton.jit
def while_kernel(x, out, n):
    value = tl.load(x)
    at = 0
    while at < n:
        at += 1
        value = tl.load(x + at)
    tl.store(out, value)


@triton.jit
def branch_kernel(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    values = tl.load(x + i)
    if n > 2:
        values = tl.load(x + N - 1 - i)
    elif n == 2:
        values = tl.where(i % 2 == 0, values, tl.load(x + i + 1 - i % 2 * 2))
    tl.store(out + i, values)


@triton.jit
def ternary_kernel(x, out, n):
    a = tl.load(x)
    b = tl.load(x + 1)
    tl.store(out, a if n > 2 else b)
    tl.store(out + 1, b if n > 2 else a)


@triton.jit
def condition_kernel(x, out, N: tl.constexpr):
    for at in range(N):
        value = tl.load(x + at)
        if value != 0:
            tl.store(out + at, 1)
        else:
            tl.store(out + at, 2)


@triton.jit
def exchange(a, b):
    return b, a


@triton.jit(noinline=True)
def last_of_two(a, b):
    return b


@triton.jit
def calls_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = exchange(tl.load(x + i), tl.load(x + N + i))
    tl.store(out + i, a)
    tl.store(out + N + i, b)


@triton.jit
def noinline_kernel(x, out):
    tl.store(out, last_of_two(tl.load(x), tl.load(x + 1)))


@triton.jit
def tuple_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    pair = (tl.load(x + i), tl.load(x + N + i))
    tl.store(out + i, pair[1])
    tl.store(out + N + i, pair[0])


@triton.jit
def static_range_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    for step in tl.static_range(N):
        tl.store(out + step, tl.load(x + N - 1 - step))
    tl.store(out + N + i, tl.load(x + i))


@triton.jit
def range_kernel(x, out, n, STAGES: tl.constexpr, UNROLL: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    for step in tl.range(0, n, 1, num_stages=STAGES, loop_unroll_factor=UNROLL):
        tl.store(out + step * N + i, tl.load(x + (n - 1 - step) * N + i))


@triton.jit
def swap_kernel(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(x + N + i)
    for _ in range(n):
        a, b = b, a
    tl.store(out + i, a)
    tl.store(out + N + i, b)


@triton.jit
def early_kernel(x, out, n):
    value = tl.load(x + tl.program_id(0))
    if tl.program_id(0) >= n:
        return
    tl.store(out + tl.program_id(0), value)
