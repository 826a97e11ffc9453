import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, libdevice.lgamma(tl.load(x + i)))
