"""Parts of the language that compilers took later than interpreters, which run what Python runs."""

import triton
import triton.language as tl


@triton.jit
def walrus_kernel(out, n):
    tl.store(out, (y := n + 1) * 2)
    tl.store(out + 1, y)


@triton.jit
def scalar_and_number_kernel(out, n):
    if n and 3:
        tl.store(out, 1)
    else:
        tl.store(out, 2)


@triton.jit
def formatted_assert_kernel(out, n, K: tl.constexpr = 4):
    tl.static_assert(K == 4, f"K is {K}")
    tl.store(out, n + K)


@triton.jit
def has_attribute_kernel(out, n):
    if hasattr(n, "dtype"):
        tl.store(out, n)
    else:
        tl.store(out, 100)


@triton.jit
def last_of_tuple_kernel(out, n):
    t = (n, n + 1, n + 2)
    tl.store(out, t[-1])
    tl.store(out + 1, t[2])


@triton.jit
def repeated_tuple_kernel(out, n):
    t = (n,) * 3
    tl.store(out, t[-1])
    tl.store(out + 1, t[2])


@triton.jit
def block_of_one_kernel(out, n):
    if tl.full([1], 0, tl.int32) + n > 2:
        tl.store(out, 1)
    else:
        tl.store(out, 2)
