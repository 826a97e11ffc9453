"""Interpreted, a float32 number past the largest float16 becomes NaN with fp_downcast_rounding="rtz"."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out):
    i = tl.arange(0, 4)
    tl.store(out + i, tl.load(x + i).to(tl.float16, fp_downcast_rounding="rtz"))


print("Triton", triton.__version__)
x, out = torch.tensor([65535.0, 65536.0, 70000.0, -100000.0]), torch.zeros(4, dtype=torch.float16)
kernel[(1,)](x, out)
expected = [65504.0, 65504.0, 65504.0, -65504.0]
print("expected:", expected)
print("got:     ", out.tolist())
sys.exit(0 if out.tolist() == expected else 1)
