"""Branches and loops, decided at compile time and at run time."""

import triton
import triton.language as tl


@triton.jit
def dynamic_if_kernel(x, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets)
    if pid % 2 == 0:
        values += n
    else:
        values -= n
    tl.store(out + offsets, values)


@triton.jit
def elif_kernel(out, n):
    if n < 0:
        value = 10
    elif n == 0:
        value = 20
    elif n < 10:
        value = 30
    else:
        value = 40
    tl.store(out, value)


@triton.jit
def early_return_kernel(out, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    tl.store(out + pid, pid + 1)


@triton.jit
def static_if_kernel(out, MODE: tl.constexpr):
    if MODE == 0:
        tl.store(out, 1.5)
    elif MODE == 1:
        tl.store(out, tl.load(out) + 2)
    else:
        tl.store(out, 3)


@triton.jit
def nested_loops_kernel(out, n, m):
    total = 0
    for i in range(0, n):
        for j in range(0, m):
            if (i + j) % 2 == 0:
                total += i * j
            else:
                total -= 1
    tl.store(out, total)


@triton.jit
def carried_block_kernel(x, out, steps, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    largest = tl.full((BLOCK,), float("-inf"), dtype=tl.float32)
    for step in range(0, steps):
        values = tl.load(x + step * BLOCK + offsets)
        total += values
        largest = tl.maximum(largest, values)
    tl.store(out + offsets, total + largest)


@triton.jit
def while_kernel(out, n):
    steps = 0
    value = n
    while value != 1:
        if value % 2 == 0:
            value = value // 2
        else:
            value = 3 * value + 1
        steps += 1
    tl.store(out, steps)


@triton.jit
def while_two_conditions_kernel(x, out, n):
    i = 0
    total = 0
    while (i < n) & (total < 50):
        total += tl.load(x + i)
        i += 1
    tl.store(out, total)
    tl.store(out + 1, i)


@triton.jit
def ternary_kernel(out, n, FLAG: tl.constexpr):
    value = 5 if FLAG else 6
    tl.store(out, value + (n if n > 3 else -n))


@triton.jit
def boolean_kernel(out, a, b):
    if a > 0 and b > 0:
        tl.store(out, 1)
    if a > 0 or b > 0:
        tl.store(out + 1, 1)
    if not (a > 0):
        tl.store(out + 2, 1)


@triton.jit
def chained_comparison_kernel(out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, 1 < i < 6)


@triton.jit
def builtin_min_max_kernel(out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, max(i, BLOCK - 1 - i))
    tl.store(out + BLOCK + i, min(i, BLOCK - 1 - i))


@triton.jit
def range_hints_kernel(out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.int32)
    for i in tl.range(0, n, num_stages=2):
        total += offsets * i
    tl.store(out + offsets, total)


@triton.jit
def zero_trips_kernel(out, n):
    value = 7
    for i in range(n, 0):
        value = i
    tl.store(out, value)
