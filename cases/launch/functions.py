import triton
import triton.language as tl


@triton.jit
def square(x):
    return x * x


@triton.jit
def minus(x):
    return -x


@triton.jit
def map_kernel(x_ptr, out_ptr, n, FN: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, FN(x), mask=offsets < n)


@triton.jit
def plain_map_kernel(x_ptr, out_ptr, n, fn, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, fn(x), mask=offsets < n)


@triton.jit
def tuple_kernel(values, out_ptr):
    offsets = tl.arange(0, values[1][1])
    tl.store(out_ptr + offsets, values[1][0](tl.load(values[0] + offsets)))
