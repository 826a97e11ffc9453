"""Interpreted, tl.dot_scaled converts 16-bit operands to float16 by parts, and loses bfloat16 and subnormal numbers."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, scale, out, FORMAT: tl.constexpr):
    i = tl.arange(0, 32)
    k = tl.arange(0, 64)
    a = tl.load(x + i[:, None] * 64 + k[None, :])
    b = tl.load(y + k[:, None] * 32 + i[None, :])
    s = tl.load(scale + i[:, None] * 2 + tl.arange(0, 2)[None, :])
    tl.store(out + i[:, None] * 32 + i[None, :], tl.dot_scaled(a, None, FORMAT, b, s, "e4m3"))


print("Triton", triton.__version__)
y = torch.ones((64, 32)).to(torch.float8_e4m3fn)
scale = torch.full((32, 2), 127, dtype=torch.uint8)  # 2**0
wrong = False
for name, number, dtype in (("bf16", 2.0**17, torch.bfloat16), ("fp16", 3 * 2.0**-24, torch.float16)):
    x, out = torch.full((32, 64), number, dtype=dtype), torch.zeros((32, 32))
    kernel[(1,)](x, y, scale, out, name)
    print(f"expected for {name}:", 64 * number, " got:", out[0, 0].item())
    wrong = wrong or out[0, 0].item() != 64 * number
sys.exit(1 if wrong else 0)
