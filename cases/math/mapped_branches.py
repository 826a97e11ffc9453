"""Functions of scalars whose lanes go different ways, or that take several elements at once."""

import triton
import triton.language as tl


@triton.jit
def collatz(value):
    steps = 0
    while value > 1:
        if value % 2 == 0:
            value = value // 2
        else:
            value = 3 * value + 1
        steps += 1
    return steps


@triton.jit
def collatz_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.map_elementwise(collatz, tl.load(x + offsets)))


@triton.jit
def divided(value, by):
    if by == 0:
        return -1, 0
    return value // by, value % by


@triton.jit
def guarded_division_kernel(x, y, quotient, remainder, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    q, r = tl.map_elementwise(divided, tl.load(x + offsets), tl.load(y + offsets))
    tl.store(quotient + offsets, q)
    tl.store(remainder + offsets, r)


@triton.jit
def doubled(a, b):
    return a * 2, b * 2


@triton.jit
def packed_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    results = tl.map_elementwise(doubled, tl.load(x + offsets), pack=2)
    tl.store(out + offsets, results[0])
