"""Interpreted, a kernel fails if a line of its docstring begins with `def `."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out):
    """Stores a number. What begins with

    def is the beginning of a function.
    """
    tl.store(out, 3)


print("Triton", triton.__version__)
out = torch.zeros(1, dtype=torch.int32)
print("expected: 3")
try:
    kernel[(1,)](out)
except Exception as error:
    print("got:", type(error).__name__, error)
    sys.exit(1)
print("got:", out.item())
sys.exit(0 if out.item() == 3 else 1)
