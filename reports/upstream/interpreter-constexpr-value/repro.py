"""Interpreted, a tl.constexpr parameter has no attribute `value`."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out, N: tl.constexpr):
    tl.store(out, N.value)


print("Triton", triton.__version__)
out = torch.zeros(1, dtype=torch.int32)
print("expected: 4")
try:
    kernel[(1,)](out, 4)
except Exception as error:
    print("got:", error)
    sys.exit(1)
print("got:", out.item())
sys.exit(0 if out.item() == 4 else 1)
