"""Interpreted, tl.full with a fraction and an integer dtype truncates the number."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out):
    tl.store(out + tl.arange(0, 4), tl.full((4,), 2.5, tl.int32))


print("Triton", triton.__version__)
out = torch.zeros(4, dtype=torch.int32)
print("expected: an error, as from the compiler")
try:
    kernel[(1,)](out)
except Exception as error:
    print("got:", error)
    sys.exit(0)
print("got:", out.tolist())
sys.exit(1)
