"""Numbers of a kernel's text, and of fp8e4b15, that become bf16."""

import triton
import triton.language as tl


@triton.jit
def full_kernel(x, out, NUMBER: tl.constexpr):
    tl.store(out + tl.arange(0, 4), tl.full((4,), NUMBER, tl.bfloat16))


@triton.jit
def product_kernel(x, out, NUMBER: tl.constexpr):
    i = tl.arange(0, 4)
    tl.store(out + i, tl.load(x + i) * NUMBER)


@triton.jit
def fp8e4b15_to_bf16_kernel(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i).to(tl.bfloat16).to(tl.int16, bitcast=True))
