"""The interpreter adds names of its own module to the module of the kernel."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out):
    tl.store(out, math.pi)  # noqa: F821


print("Triton", triton.__version__)
out = torch.zeros(1)
rejected = False
before = set(globals())
print("expected: NameError: math is not defined, and no new global names")
try:
    kernel[(1,)](out)
    print("got:", out.item(), "was stored")
except Exception as error:
    print("got:", error)
    rejected = True
added = sorted(set(globals()) - before - {"before"})
print("got: new global names:", len(added), *added[-4:])
sys.exit(0 if rejected and not added else 1)
