"""Interpreted, run-time values are accepted where the compiler needs compile-time ones."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def bounds(out, n):
    for i in tl.static_range(n):
        tl.store(out + i, 3)


@triton.jit
def assertion(out, n):
    tl.static_assert(n > 3)
    tl.store(out, 3)


@triton.jit
def hint(out, n):
    i = tl.multiple_of(tl.arange(0, 8), n)
    tl.store(out + i, 3)


print("Triton", triton.__version__)
print("expected: each kernel is rejected, as by the compiler")
accepted = 0
for kernel in (bounds, assertion, hint):
    try:
        kernel[(1,)](torch.zeros(8, dtype=torch.int32), 4)
        print("got:", kernel.__name__, "is accepted")
        accepted += 1
    except Exception as error:
        print("got:", kernel.__name__, "is rejected:", error)
sys.exit(1 if accepted else 0)
