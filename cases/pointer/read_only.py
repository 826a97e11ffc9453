"""Pointers that nothing may be stored through."""

import triton
import triton.language as tl


@triton.jit
def read_only_kernel(x: tl.const, out):
    i = tl.arange(0, 8)
    tl.store(out + i, tl.load(x + i))


@triton.jit
def stored_kernel(out: tl.const):
    tl.store(out + tl.arange(0, 8), 3)
