"""8-bit floats as each other."""

import triton
import triton.language as tl


@triton.jit
def fp8_to_fp8_kernel(x, out):
    i = tl.arange(0, 128)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty))
