import triton
import triton.language as tl


@triton.jit
def smallest_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    values = tl.load(x + i)
    smallest = tl.min(values, axis=0, keep_dims=True)
    tl.store(out + i, values + tl.cumsum(smallest, 0))


@triton.jit
def rows_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, 8)[:, None] * N + tl.arange(0, N)[None, :]
    values = tl.load(x + i)
    smallest = tl.min(values, axis=1, keep_dims=True)
    tl.store(out + i, values + tl.cumsum(smallest, 1))
