"""A kernel whose autotuner is given its own way to measure, so that it needs no driver to be asked."""

import triton
import triton.language as tl


def measure(launch, quantiles):
    launch()
    return [1.0] * len(quantiles)


@triton.autotune(
    configs=[triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})],
    key=["n"],
    do_bench=measure,
)
@triton.jit
def scale_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) * 2, mask=mask)
