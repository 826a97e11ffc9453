import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def narrowed(x, out):
    i = tl.arange(0, 8)
    tl.store(out + i, libdevice.tanh(tl.load(x + i)).to(tl.int16, bitcast=True))


@triton.jit
def misshapen(x, out):
    i = tl.arange(0, 8)
    tl.store(out + i, tl.load(x + i) + tl.zeros([4], tl.float32))
