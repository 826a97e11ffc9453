import triton
import triton.language as tl


@triton.jit
def kernel(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    greater = tl.load(x + i) > tl.load(y + i)
    tl.store(out + i, greater.to(out.dtype.element_ty))
