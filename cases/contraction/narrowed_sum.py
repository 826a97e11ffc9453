import triton
import triton.language as tl


@triton.jit
def kernel(x, y, z, out):
    i = tl.arange(0, 512)
    a = tl.load(x + i)
    b = tl.load(y + i)
    c = tl.load(z + i)
    tl.store(out + i, ((a * b).to(tl.float32) + c.to(tl.float32)).to(tl.float16))
