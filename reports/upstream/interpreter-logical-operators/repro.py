"""Interpreted, `and`, `or` and `not` of run-time values follow Python instead of Triton."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out):
    i = tl.arange(0, 8)
    tl.store(out + i, (i > 2 and i < 5).to(tl.int32))


@triton.jit
def negation(out, n):
    tl.store(out, (not n > 3).to(tl.int32) + 5)


print("Triton", triton.__version__)
out = torch.zeros(8, dtype=torch.int32)
kernel[(1,)](out)
expected = [0, 0, 0, 1, 1, 0, 0, 0]
print("expected:", expected)
print("got:     ", out.tolist())
wrong = out.tolist() != expected
print("expected from `not`: 6")
try:
    negation[(1,)](out, 2)
    print("got from `not`:", out[0].item())
    wrong = wrong or out[0].item() != 6
except Exception as error:
    print("got from `not`:", error)
    wrong = True
sys.exit(1 if wrong else 0)
