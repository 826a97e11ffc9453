"""Interpreted, a function of triton.language that is imported by its name can't be called."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl
from triton.language import arange


@triton.jit
def kernel(out):
    tl.store(out + arange(0, 4), 3)


print("Triton", triton.__version__)
out = torch.zeros(4, dtype=torch.int32)
print("expected: [3, 3, 3, 3]")
try:
    kernel[(1,)](out)
except Exception as error:
    print("got:", error)
    sys.exit(1)
print("got:", out.tolist())
sys.exit(0 if out.tolist() == [3, 3, 3, 3] else 1)
