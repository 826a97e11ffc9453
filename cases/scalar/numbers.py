"""Numbers that kernels write in forms other than `name = number`. Variables still hold tensors of 32 bits."""

import triton
import triton.language as tl


@triton.jit
def augmented_kernel(x, out, C: tl.constexpr):
    i = tl.arange(0, 8)
    C += 0.1
    tl.store(out + i, tl.load(x + i) * C)


@triton.jit
def annotated_kernel(x, out):
    i = tl.arange(0, 8)
    c: tl.float32 = 0.1
    tl.store(out + i, tl.load(x + i) * c)


@triton.jit
def named_kernel(x, out):
    i = tl.arange(0, 8)
    tl.store(out + i, tl.load(x + i) * (c := 0.1))
    tl.store(out, c)


@triton.jit
def announced_kernel(x, out):
    i = tl.arange(0, 8)
    c: tl.constexpr
    c = 0.1
    tl.store(out + i, tl.load(x + i) * c)


@triton.jit
def chosen_kernel(x, out, n):
    i = tl.arange(0, 8)
    tl.store(out + i, tl.load(x + i) * (0.1 if n > 3 else 0.2))


@triton.jit
def tenths(n):
    if n > 3:
        return 0.1
    else:
        return 0.2


@triton.jit
def returned_kernel(x, out, n):
    i = tl.arange(0, 8)
    tl.store(out + i, tl.load(x + i) * tenths(n))


@triton.jit
def typed_kernel(out, n: tl.int64):
    tl.store(out, n * 1073741824)


@triton.jit
def value_kernel(out, N: tl.constexpr):
    tl.store(out, N.value)
