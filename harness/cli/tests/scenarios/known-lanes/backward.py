import triton
import triton.language as tl


@triton.jit
def kernel(x, out):
    i = tl.arange(0, 8)
    tl.store(out + i, tl.cumsum(tl.load(x + i), 0, reverse=True))
