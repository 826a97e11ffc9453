"""Products whose scales are 8-bit floats."""

import triton
import triton.language as tl


@triton.jit
def scaled_by_fp8_kernel(x, y, scale, out):
    i = tl.arange(0, 32)
    k = tl.arange(0, 64)
    a = tl.load(x + i[:, None] * 64 + k[None, :])
    b = tl.load(y + k[:, None] * 32 + i[None, :])
    s = tl.load(scale + i[:, None] * 8 + tl.arange(0, 8)[None, :])
    tl.store(out + i[:, None] * 32 + i[None, :], tl.dot_scaled(a, s, "e2m1", b, s, "e2m1"))
