"""The kernels whose speed is compared."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


@triton.jit
def add_one_kernel(ptr, n_rows, n_columns, stride_0, stride_1, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    mask = (rows < n_rows)[:, None] & (columns < n_columns)[None, :]
    pointers = ptr + rows[:, None] * stride_0 + columns[None, :] * stride_1
    tl.store(pointers, tl.load(pointers, mask=mask) + 1, mask=mask)


@triton.jit
def softmax_kernel(out, x, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    values = tl.load(x + row * stride + columns, mask=mask, other=-float("inf"))
    exponentials = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + columns, exponentials / tl.sum(exponentials, axis=0), mask=mask)


@triton.jit
def matmul_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        x = tl.load(a + rows[:, None] * k + (start + inner)[None, :])
        y = tl.load(b + (start + inner)[:, None] * n + columns[None, :])
        total = tl.dot(x, y, total, input_precision="ieee")
    tl.store(c + rows[:, None] * n + columns[None, :], total)
