import triton
import triton.language as tl

HEADS: tl.constexpr = tl.constexpr(4)


@triton.jit
def element(ptr, row, stride, at):
    return ptr + row * stride + at
