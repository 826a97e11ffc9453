"""A program that asks for the interpreter once Triton is imported, as a cell of a notebook does."""

import os

import triton
import triton.language as tl

os.environ["TRITON_INTERPRET"] = "1"


@triton.jit
def sum_kernel(n: tl.constexpr):
    total = tl.sum(tl.zeros((n,), tl.int32), 0)
    tl.static_assert(total.dtype == tl.int32)


if __name__ == "__main__":
    sum_kernel[(1,)](4)
