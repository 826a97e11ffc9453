"""Interpreted, tl.dot_scaled takes the byte of an fp8 scale for an exponent."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, scale, out):
    i = tl.arange(0, 32)
    k = tl.arange(0, 64)
    a = tl.load(x + i[:, None] * 64 + k[None, :])
    b = tl.load(y + k[:, None] * 32 + i[None, :])
    s = tl.load(scale + i[:, None] * 8 + tl.arange(0, 8)[None, :])
    tl.store(out + i[:, None] * 32 + i[None, :], tl.dot_scaled(a, s, "e2m1", b, s, "e2m1"))


print("Triton", triton.__version__)
x = torch.full((32, 64), 0x22, dtype=torch.uint8)  # two e2m1 numbers, 1.0 and 1.0
y = torch.full((64, 32), 0x22, dtype=torch.uint8)
scale, out = torch.full((32, 8), 2.0).to(torch.float8_e4m3fn), torch.zeros((32, 32))
kernel[(1,)](x, y, scale, out)
print("expected: 128 products of 1.0 * 1.0, each scaled by 2.0 * 2.0:", 128 * 4.0)
print("got:", out[0, 0].item())
sys.exit(0 if out[0, 0].item() == 512.0 else 1)
