"""Autotune over heuristics over a kernel."""

import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 32})], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def scale_kernel(x, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + offsets, tl.load(x + offsets) * 2)
    else:
        mask = offsets < n
        tl.store(out + offsets, tl.load(x + offsets, mask=mask) * 2, mask=mask)
