"""Kernels that the interpreter executes a second time, from their text, before they are launched."""

import triton
import triton.language as tl


WIDTH = 4


@triton.jit
def default_kernel(out, N: tl.constexpr = WIDTH):
    tl.store(out, N)


WIDTH = 8


@triton.jit
def documented_kernel(out):
    """Stores a number. What begins with

    def is the beginning of a function.
    """
    tl.store(out, 3)


@triton.jit
def spelled_kernel(out, N: triton.language.constexpr):
    tl.store(out + tl.arange(0, N), 3)


@triton.jit
def borrowed_kernel(out):
    tl.store(out, math.pi)
