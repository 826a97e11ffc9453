"""Python that runs in the interpreter but is not Triton: each kernel has one construct that the compiler rejects."""

import numpy as np
import triton
import triton.language as tl

LIMIT = 3


@triton.jit
def break_kernel(out, n):
    total = 0
    for i in range(0, n):
        if i == 3:
            break
        total += i
    tl.store(out, total)


@triton.jit
def plain_global_kernel(out, n):
    tl.store(out, n + LIMIT)


@triton.jit
def loop_to_float_kernel(out, n):
    total = 0
    for i in range(0, n):
        total = total + 0.5
    tl.store(out, total)


@triton.jit
def one_branch_kernel(out, n):
    if n > 3:
        value = n + 1
    tl.store(out, value)


@triton.jit
def branches_differ_kernel(out, n):
    if n > 3:
        value = 1.5
    else:
        value = 2
    tl.store(out, value)


@triton.jit
def try_kernel(out, n):
    try:
        tl.store(out, n)
    except ValueError:
        tl.store(out, 0)


@triton.jit
def list_kernel(out, n):
    values = [n]
    values.append(n + 1)
    tl.store(out, values[1])


@triton.jit
def numpy_kernel(out, n):
    tl.store(out, n + int(np.sum([1, 2])))


@triton.jit
def if_block_kernel(out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if i > 100:
        tl.store(out + i, 1)


@triton.jit
def tuple_arity_kernel(out, n):
    a, b = (n, n + 1, n + 2)
    tl.store(out, a)
    tl.store(out + 1, b)


@triton.jit
def bound_in_loop_kernel(out, n):
    for i in range(0, n):
        value = i + 1
    tl.store(out, value)
