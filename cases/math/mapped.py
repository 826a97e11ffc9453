"""Functions that hand every element to something else: assembly, or a function of scalars."""

import triton
import triton.language as tl


@triton.jit
def inline_asm_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets)
    same = tl.inline_asm_elementwise(
        "mov.b32 $0, $1;", "=r,r", [values], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(out + offsets, same)


@triton.jit
def plus_one(value):
    return value + 1


@triton.jit
def map_elementwise_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.map_elementwise(plus_one, tl.load(x + offsets)))


@triton.jit
def div_rn_scalar_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.div_rn(tl.load(x + offsets), tl.load(x + 1)))
