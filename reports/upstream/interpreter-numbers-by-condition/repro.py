"""Interpreted, a run-time condition that chooses between two numbers yields a Python number."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def chosen(x, out, n):
    tl.store(out, tl.load(x) * (0.1 if n > 3 else 0.2))


@triton.jit
def tenths(n):
    if n > 3:
        return 0.1
    else:
        return 0.2


@triton.jit
def returned(x, out, n):
    tl.store(out, tl.load(x) * tenths(n))


print("Triton", triton.__version__)
x = torch.full((1,), 7.0, dtype=torch.float16)
expected = (x.float() * torch.tensor(0.1)).item()
print("expected: float16 * float32 is float32:", expected)
wrong = False
for kernel in (chosen, returned):
    out = torch.zeros(1)
    kernel[(1,)](x, out, 5)
    print("got:", out.item(), "from", kernel.__name__)
    wrong = wrong or out.item() != expected
sys.exit(1 if wrong else 0)
