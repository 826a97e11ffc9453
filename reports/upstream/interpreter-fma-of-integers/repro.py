"""Interpreted, tl.fma accepts integers."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out):
    v = tl.load(x)
    tl.store(out, tl.fma(v, v, v))


print("Triton", triton.__version__)
x, out = torch.full((1,), 3, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
print("expected: an error, as from the compiler")
try:
    kernel[(1,)](x, out)
except Exception as error:
    print("got:", error)
    sys.exit(0)
print("got:", out.item())
sys.exit(1)
