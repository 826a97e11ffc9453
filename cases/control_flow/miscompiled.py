"""Control flow that some compiler got wrong on a GPU, with one meaning in the language."""

import triton
import triton.language as tl


@triton.jit
def dead_return_kernel(a, x, out, other, switch, m, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    first, second = tl.split(tl.load(switch + tl.arange(0, 2)).reshape(1, 2))
    low = tl.sum(first, axis=0)
    high = tl.sum(second, axis=0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    if low < high:
        tl.store(other + row * n + offsets, 1.0, mask=mask)
    if low > high:
        tl.store(other + row * n, 2.0)
        return
    values = tl.load(a + row * n + offsets, mask=mask, other=0.0)
    factors = tl.load(x + offsets, mask=mask, other=0.0)
    tl.store(out + row, tl.sum(values * factors, axis=0), mask=row < m)


@triton.jit
def pipelined_store_kernel(buffer, difference, rows, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2, loop_unroll_factor=1):
        for column in tl.range(0, COLUMNS, BLOCK, num_stages=2, loop_unroll_factor=2, flatten=True):
            offsets = row * COLUMNS + column + tl.arange(0, BLOCK)
            values = (offsets + row).to(tl.float32)
            tl.store(buffer + offsets, values)
            tl.store(difference + offsets, tl.load(buffer + offsets) - values)


@triton.jit
def twin_counters_kernel(out, n, m):
    left = 0
    right = 0
    total = 0
    for i in range(0, n):
        total += left * 10 + right
        for j in range(0, m):
            left += 1
            if j < i:
                right += 1
            else:
                right += 2
        total += left - right
    tl.store(out, total)
    tl.store(out + 1, left)
    tl.store(out + 2, right)
