"""Interpreted, defaults of a kernel are evaluated at its first launch, and not at its definition."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl

WIDTH = 4


@triton.jit
def kernel(out, N: tl.constexpr = WIDTH):
    tl.store(out, N)


WIDTH = 8

print("Triton", triton.__version__)
out = torch.zeros(1, dtype=torch.int32)
kernel[(1,)](out)
print("expected: 4")
print("got:", out.item())
sys.exit(0 if out.item() == 4 else 1)
