import triton
import triton.language as tl


@triton.jit
def added_kernel(x, y, d, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    a = tl.load(x + m * K + tl.arange(0, K)[None, :])
    b = tl.load(y + tl.arange(0, K)[:, None] * N + n)
    tl.store(out + m * N + n, tl.load(d + m * N + n) + tl.dot(a, b, out_dtype=tl.int32))


@triton.jit
def accumulated_kernel(x, y, d, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    a = tl.load(x + m * K + tl.arange(0, K)[None, :])
    b = tl.load(y + tl.arange(0, K)[:, None] * N + n)
    tl.store(out + m * N + n, tl.dot(a, b, tl.load(d + m * N + n), out_dtype=tl.int32))


@triton.jit
def loop_kernel(x, y, d, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    a = tl.load(x + m * K + tl.arange(0, K)[None, :])
    b = tl.load(y + tl.arange(0, K)[:, None] * N + n)
    total = tl.load(d + m * N + n)
    for _ in range(3):
        total += tl.dot(a, b, out_dtype=tl.int32)
    tl.store(out + m * N + n, total)
