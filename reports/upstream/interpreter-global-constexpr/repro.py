"""Interpreted, `is` and `isinstance` see the tl.constexpr object of a global, and not its value."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl

NOTHING = tl.constexpr(None)
THREE = tl.constexpr(3)


@triton.jit
def kernel(out):
    if NOTHING is None:
        tl.store(out, 1)
    else:
        tl.store(out, 2)
    if isinstance(THREE, int):
        tl.store(out + 1, 1)
    else:
        tl.store(out + 1, 2)


print("Triton", triton.__version__)
out = torch.zeros(2, dtype=torch.int32)
kernel[(1,)](out)
print("expected: [1, 1]")
print("got:     ", out.tolist())
sys.exit(0 if out.tolist() == [1, 1] else 1)
