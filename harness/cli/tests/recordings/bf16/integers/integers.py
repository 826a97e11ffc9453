import triton
import triton.language as tl


@triton.jit
def integers(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=0).to(tl.bfloat16), mask=i < n)
