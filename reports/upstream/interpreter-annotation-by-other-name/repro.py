"""Interpreted, a parameter annotated `triton.language.constexpr` is not a constexpr."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out, N: triton.language.constexpr):
    tl.store(out + tl.arange(0, N), 3)


print("Triton", triton.__version__)
out = torch.zeros(4, dtype=torch.int32)
print("expected: [3, 3, 3, 3]")
try:
    kernel[(1,)](out, 4)
except Exception as error:
    print("got:", error)
    sys.exit(1)
print("got:", out.tolist())
sys.exit(0 if out.tolist() == [3, 3, 3, 3] else 1)
