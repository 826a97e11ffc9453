import triton
import triton.language as tl


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def subtract(a, b):
    return a - b


@triton.jit
def larger(a, i, b, j):
    left = a > b
    return tl.where(left, a, b), tl.where(left, i, j)


@triton.jit
def sum_kernel(x, out, N: tl.constexpr):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, N)), 0))


@triton.jit
def product_kernel(x, out, N: tl.constexpr):
    tl.store(out, tl.reduce(tl.load(x + tl.arange(0, N)), 0, multiply))


@triton.jit
def cumsum_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.cumsum(tl.load(x + i), 0))


@triton.jit
def subtract_kernel(x, out, same, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out, tl.reduce(v, 0, subtract))
    tl.store(same + i, v + 1)


@triton.jit
def scan_kernel(x, out, same, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    best, at = tl.associative_scan((v, i), 0, larger)
    tl.store(out + i, at)
    tl.store(same + i, v + 1)


@triton.jit
def spread_kernel(x, out, same, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    best, at = tl.reduce((v, i), 0, larger)
    tl.store(out + i, i + at)
    tl.store(same + i, i)
