"""Products of blocks of every dtype, in two and three dimensions."""

import triton
import triton.language as tl


@triton.jit
def dot_kernel(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, OUT: tl.constexpr):
    rows = tl.arange(0, M)[:, None]
    columns = tl.arange(0, N)[None, :]
    inner = tl.arange(0, K)
    x = tl.load(a + rows * K + inner[None, :])
    y = tl.load(b + inner[:, None] * N + columns)
    tl.store(c + rows * N + columns, tl.dot(x, y, out_dtype=OUT))


@triton.jit
def accumulate_kernel(
    a, b, c, HOW: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, OUT: tl.constexpr
):
    rows = tl.arange(0, M)[:, None]
    columns = tl.arange(0, N)[None, :]
    inner = tl.arange(0, K)
    x = tl.load(a + rows * K + inner[None, :])
    y = tl.load(b + inner[:, None] * N + columns)
    total = tl.load(c + rows * N + columns)
    if HOW == "acc":
        total = tl.dot(x, y, total, out_dtype=OUT)
    elif HOW == "plus":
        total += tl.dot(x, y, out_dtype=OUT)
    else:
        for _ in range(3):
            total = tl.dot(x, y, total, out_dtype=OUT)
    tl.store(c + rows * N + columns, total)


@triton.jit
def batch_kernel(
    a, b, c, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, OUT: tl.constexpr
):
    batch = tl.arange(0, B)[:, None, None]
    rows = tl.arange(0, M)[None, :, None]
    columns = tl.arange(0, N)[None, None, :]
    x = tl.load(a + batch * (M * K) + rows * K + tl.arange(0, K)[None, None, :])
    y = tl.load(b + batch * (K * N) + tl.arange(0, K)[None, :, None] * N + columns)
    tl.store(c + batch * (M * N) + rows * N + columns, tl.dot(x, y, out_dtype=OUT))


@triton.jit
def precision_kernel(a, b, c, PRECISION: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.arange(0, M)[:, None]
    columns = tl.arange(0, N)[None, :]
    inner = tl.arange(0, K)
    x = tl.load(a + rows * K + inner[None, :])
    y = tl.load(b + inner[:, None] * N + columns)
    tl.store(c + rows * N + columns, tl.dot(x, y, tl.load(c + rows * N + columns), input_precision=PRECISION))


@triton.jit
def transposed_kernel(a, b, c, LEFT: tl.constexpr, RIGHT: tl.constexpr, N: tl.constexpr, OUT: tl.constexpr):
    rows = tl.arange(0, N)[:, None]
    columns = tl.arange(0, N)[None, :]
    x = tl.load(a + rows * N + columns)
    y = tl.load(b + rows * N + columns)
    if LEFT:
        x = tl.trans(x)
    if RIGHT:
        y = tl.trans(y)
    tl.store(c + rows * N + columns, tl.dot(x, y, out_dtype=OUT))
