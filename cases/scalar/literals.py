"""Python numbers bound to names inside of a kernel, used as the tensors that compiled mode makes of them."""

import triton
import triton.language as tl

SCALE = tl.constexpr(3)


@triton.jit
def float_shape_dtype_kernel(out, BLOCK: tl.constexpr):
    value = 0.5
    block = tl.full(value.shape, 2.0, value.dtype)
    tl.store(out + tl.arange(0, BLOCK), tl.full((BLOCK,), 1.5, value.dtype) + block)


@triton.jit
def float_to_kernel(out, dtype: tl.constexpr):
    value = 0.5
    tl.store(out, value.to(dtype).to(tl.float32))


@triton.jit
def int_sum_to_kernel(out, a: tl.constexpr, b: tl.constexpr):
    t0 = a
    t1 = b
    total = t0 + t1
    tl.store(out, total.to(tl.float32))


@triton.jit
def tuple_unpacked_kernel(out):
    a, b = 1, 2
    tl.store(out, a.to(tl.float32))
    tl.store(out + 1, (a + b).to(tl.float32))


@triton.jit
def loop_variable_to_kernel(out):
    total = 0.0
    for i in range(3):
        total += i.to(tl.float32)
    tl.store(out, total)


@triton.jit
def constant_global_kernel(out):
    value = SCALE
    tl.store(out, (value * 2).to(tl.float32))


@triton.jit
def while_counter_kernel(out, n):
    i = 0
    total = 0.0
    while i < n:
        total += i.to(tl.float32) * 0.5
        i += 1
    tl.store(out, total)
    tl.store(out + 1, i.to(tl.float32))
