"""Interpreted, a Python `assert` of a run-time value fails without debug mode; tl.device_assert doesn't."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def device_assert(x, out):
    value = tl.load(x)
    tl.device_assert(value > 3, "too small")
    tl.store(out, value + 5)


@triton.jit
def python_assert(x, out):
    value = tl.load(x)
    assert value > 3, "too small"
    tl.store(out, value + 5)


print("Triton", triton.__version__)
wrong = False
print("expected from both, without TRITON_DEBUG: 5")
for kernel in (device_assert, python_assert):
    x, out = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    try:
        kernel[(1,)](x, out)
        print("got:", out.item(), "from", kernel.__name__)
    except Exception as error:
        print("got:", error, "from", kernel.__name__)
        wrong = True
sys.exit(1 if wrong else 0)
