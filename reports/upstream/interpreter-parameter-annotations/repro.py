"""Interpreted, annotations of parameters other than `tl.constexpr` are ignored."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def typed(out, n: tl.int64):
    tl.store(out, n * 1073741824)


@triton.jit
def read_only(out: tl.const):
    tl.store(out, 3)


print("Triton", triton.__version__)
out = torch.zeros(1, dtype=torch.int64)
typed[(1,)](out, 7)
print("expected: 7 * 2**30 in int64:", 7 * 2**30)
print("got:", out.item())
wrong = out.item() != 7 * 2**30
print("expected: a store through a `tl.const` pointer is rejected")
try:
    read_only[(1,)](out)
    print("got:", out.item(), "was stored")
    wrong = True
except Exception as error:
    print("got:", error)
sys.exit(1 if wrong else 0)
