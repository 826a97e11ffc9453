"""Interpreted, the sum of negative zeros is positive zero."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, 8)), 0))


print("Triton", triton.__version__)
x, out = torch.full((8,), -0.0), torch.ones(1)
kernel[(1,)](x, out)
print("expected: -0.0")
print("got:", out.item())
sys.exit(0 if out.signbit().item() and out.item() == 0 else 1)
