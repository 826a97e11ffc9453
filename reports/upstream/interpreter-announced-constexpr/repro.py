"""Interpreted, `c: tl.constexpr` before `c = 0.1` is ignored, and `c` becomes a float32 tensor."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out):
    c: tl.constexpr
    c = 0.1
    tl.store(out, tl.load(x) * c)


print("Triton", triton.__version__)
x = torch.full((1,), 7.0, dtype=torch.float16)
out = torch.zeros(1)
kernel[(1,)](x, out)
expected = (x * torch.tensor(0.1, dtype=torch.float16)).float().item()
print("expected: float16 * constexpr is float16:", expected)
print("got:", out.item())
sys.exit(0 if out.item() == expected else 1)
