"""Matrix products of one block and of many."""

import triton
import triton.language as tl


@triton.jit
def dot_kernel(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    inner = tl.arange(0, K)
    x = tl.load(a + rows[:, None] * K + inner[None, :])
    y = tl.load(b + inner[:, None] * N + columns[None, :])
    tl.store(c + rows[:, None] * N + columns[None, :], tl.dot(x, y))


@triton.jit
def dot_ieee_kernel(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    inner = tl.arange(0, K)
    x = tl.load(a + rows[:, None] * K + inner[None, :])
    y = tl.load(b + inner[:, None] * N + columns[None, :])
    tl.store(c + rows[:, None] * N + columns[None, :], tl.dot(x, y, input_precision="ieee"))


@triton.jit
def dot_tf32_kernel(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, ALLOW: tl.constexpr):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    inner = tl.arange(0, K)
    x = tl.load(a + rows[:, None] * K + inner[None, :])
    y = tl.load(b + inner[:, None] * N + columns[None, :])
    tl.store(c + rows[:, None] * N + columns[None, :], tl.dot(x, y, allow_tf32=ALLOW))


@triton.jit
def dot_accumulate_kernel(
    a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, OUT: tl.constexpr, IMPRECISE: tl.constexpr
):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    inner = tl.arange(0, K)
    x = tl.load(a + rows[:, None] * K + inner[None, :])
    y = tl.load(b + inner[:, None] * N + columns[None, :])
    place = c + rows[:, None] * N + columns[None, :]
    total = tl.dot(x, y, acc=tl.load(place), max_num_imprecise_acc=IMPRECISE, out_dtype=OUT)
    tl.store(place, total)


@triton.jit
def matmul_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        x = tl.load(
            a + rows[:, None] * k + (start + inner)[None, :],
            mask=(rows < m)[:, None] & (start + inner < k)[None, :],
            other=0.0,
        )
        y = tl.load(
            b + (start + inner)[:, None] * n + columns[None, :],
            mask=(start + inner < k)[:, None] & (columns < n)[None, :],
            other=0.0,
        )
        total = tl.dot(x, y, total, input_precision="ieee")
    tl.store(
        c + rows[:, None] * n + columns[None, :], total, mask=(rows < m)[:, None] & (columns < n)[None, :]
    )


@triton.jit
def dot_precision_kernel(a, b, c, PRECISION: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    inner = tl.arange(0, K)
    x = tl.load(a + rows[:, None] * K + inner[None, :])
    y = tl.load(b + inner[:, None] * N + columns[None, :])
    tl.store(c + rows[:, None] * N + columns[None, :], tl.dot(x, y, input_precision=PRECISION))


@triton.jit
def chained_kernel(q, k, v, out, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    rows = tl.arange(0, M)
    keys = tl.arange(0, N)
    inner = tl.arange(0, D)
    x = tl.load(q + rows[:, None] * D + inner[None, :])
    y = tl.load(k + inner[:, None] * N + keys[None, :])
    z = tl.load(v + keys[:, None] * D + inner[None, :])
    scores = tl.dot(x, y).to(z.dtype)
    tl.store(out + rows[:, None] * D + inner[None, :], tl.dot(scores, z))
