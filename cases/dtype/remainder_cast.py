import triton
import triton.language as tl


@triton.jit
def constant_kernel(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i).to(tl.float32)
    tl.store(out + i, (a % 2.0).to(out.dtype.element_ty))


@triton.jit
def loaded_kernel(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i).to(tl.float32)
    b = tl.load(y + i).to(tl.float32)
    tl.store(out + i, (a % b).to(out.dtype.element_ty))
