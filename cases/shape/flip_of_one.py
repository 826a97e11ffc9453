import triton
import triton.language as tl


@triton.jit
def alone_kernel(x, out):
    i = tl.arange(0, 1)
    tl.store(out + i, tl.flip(tl.load(x + i), 0))


@triton.jit
def beside_kernel(x, out, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + i, tl.flip(tl.load(x + i), AXIS))
