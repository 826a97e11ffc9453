import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def unequal(x, out):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    tl.store(out + i, tl.where(libdevice.isnan(a) != 0, 1.0, 2.0))


@triton.jit
def equal(x, out):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    tl.store(out + i, tl.where(libdevice.isnan(a) == 0, 1.0, 2.0))


@triton.jit
def branch(x, out):
    if libdevice.isnan(tl.load(x)):
        tl.store(out, 1.0)
    else:
        tl.store(out, 2.0)


@triton.jit
def mask(x, out):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    is_nan = libdevice.isnan(a) != 0
    tl.store(out + i, a, mask=is_nan)
