"""Interpreted, tl.atomic_add of float16 raises OverflowError if the sum is infinite."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out):
    tl.atomic_add(out, tl.load(x))


print("Triton", triton.__version__)
x = torch.full((1,), 60000.0, dtype=torch.float16)
out = x.clone()
print("expected:", (x + x).item())
try:
    kernel[(1,)](x, out)
except Exception as error:
    print("got:", error)
    sys.exit(1)
print("got:", out.item())
sys.exit(0 if out.item() == float("inf") else 1)
