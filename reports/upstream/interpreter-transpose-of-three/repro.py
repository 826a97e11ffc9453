"""Interpreted, `.T` of a block of three dimensions reverses the dimensions of the data, and swaps two in the type."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out):
    i = tl.arange(0, 16)
    v = tl.reshape(tl.load(x + i), (2, 2, 4))
    tl.store(out + i, tl.reshape(v.T, (16,)))


print("Triton", triton.__version__)
x, out = torch.arange(16, dtype=torch.int32), torch.zeros(16, dtype=torch.int32)
print("expected: an error, as from the compiler")
try:
    kernel[(1,)](x, out)
except Exception as error:
    print("got:", error)
    sys.exit(0)
print("got:", out.tolist())
sys.exit(1)
