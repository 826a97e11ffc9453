"""Products of 16-bit floats with scaled 8-bit ones."""

import triton
import triton.language as tl


@triton.jit
def scaled_wide_kernel(x, y, scale, out, FORMAT: tl.constexpr):
    i = tl.arange(0, 32)
    k = tl.arange(0, 64)
    a = tl.load(x + i[:, None] * 64 + k[None, :])
    b = tl.load(y + k[:, None] * 32 + i[None, :])
    s = tl.load(scale + i[:, None] * 2 + tl.arange(0, 2)[None, :])
    tl.store(out + i[:, None] * 32 + i[None, :], tl.dot_scaled(a, None, FORMAT, b, s, "e4m3"))
