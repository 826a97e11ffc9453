"""Interpreted, tl.reduce of two blocks over all axes fails."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def add_both(a, b, c, d):
    return a + c, b + d


@triton.jit
def kernel(x, out):
    v = tl.reshape(tl.load(x + tl.arange(0, 8)), (2, 4))
    s, t = tl.reduce((v, v * 2), None, add_both)
    tl.store(out, s)
    tl.store(out + 1, t)


print("Triton", triton.__version__)
x, out = torch.arange(8, dtype=torch.int32), torch.zeros(2, dtype=torch.int32)
print("expected: [28, 56]")
try:
    kernel[(1,)](x, out)
except Exception as error:
    print("got:", error)
    sys.exit(1)
print("got:", out.tolist())
sys.exit(0 if out.tolist() == [28, 56] else 1)
