"""Kernels defined inside of functions, which see what the function bound."""

import triton
import triton.language as tl


def make():
    C = tl.constexpr(9)

    @triton.jit
    def kernel(out):
        tl.store(out, C)

    return kernel


kernel = make()

GLOBAL = tl.constexpr(5)
ANNOTATED: tl.constexpr = 6


@triton.jit
def global_kernel(out):
    tl.store(out, GLOBAL)


@triton.jit
def annotated_kernel(out):
    tl.store(out, ANNOTATED)
