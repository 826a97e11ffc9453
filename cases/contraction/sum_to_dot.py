import triton
import triton.language as tl


@triton.jit
def kernel(x, y, z, out):
    i = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    a = tl.load(x + i)
    b = tl.load(y + i)
    tl.store(out + i, tl.sum(a[:, :, None] * b[None, :, :], 1) + tl.load(z + i))
