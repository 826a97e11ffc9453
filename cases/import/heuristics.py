"""A kernel whose block size and evenness follow from its arguments."""

import triton
import triton.language as tl


@triton.heuristics(
    {
        "BLOCK": lambda args: triton.next_power_of_2(args["n"]),
        "EVEN": lambda args: args["n"] % triton.next_power_of_2(args["n"]) == 0,
    }
)
@triton.jit
def scale_kernel(x, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + offsets, tl.load(x + offsets) * 2)
    else:
        mask = offsets < n
        tl.store(out + offsets, tl.load(x + offsets, mask=mask) * 2, mask=mask)
