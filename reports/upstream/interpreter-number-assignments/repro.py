"""Interpreted, a number stays a Python number after `x += …`, `x: T = …` and `x := …`, and follows the dtype beside it."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def augmented(x, out, C: tl.constexpr):
    C += 0.1
    tl.store(out, tl.load(x) * C)


@triton.jit
def annotated(x, out, C: tl.constexpr):
    c: tl.float32 = 0.1
    tl.store(out, tl.load(x) * c)


@triton.jit
def walrus(x, out, C: tl.constexpr):
    tl.store(out, tl.load(x) * (c := 0.1))
    tl.store(out + 1, c)


@triton.jit
def assigned(x, out, C: tl.constexpr):
    c = 0.1
    tl.store(out, tl.load(x) * c)


print("Triton", triton.__version__)
x = torch.full((1,), 7.0, dtype=torch.float16)
expected = (x.float() * torch.tensor(0.1)).item()
print("expected: float16 * float32 is float32:", expected)
wrong = False
for kernel in (assigned, augmented, annotated, walrus):
    out = torch.zeros(2)
    kernel[(1,)](x, out, 0)
    print("got:", out[0].item(), "from", kernel.__name__)
    wrong = wrong or out[0].item() != expected
sys.exit(1 if wrong else 0)
