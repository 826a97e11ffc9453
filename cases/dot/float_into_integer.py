import triton
import triton.language as tl


@triton.jit
def kernel(x, out):
    i = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    a = tl.load(x + i)
    tl.store(out + i, tl.dot(a, a, tl.load(out + i), out_dtype=tl.int32))
