import triton
import triton.language as tl


@triton.jit
def between(x, low, high, out, kept, N: tl.constexpr):
    i = tl.arange(0, N)
    v, a, b = tl.load(x + i), tl.load(low + i), tl.load(high + i)
    tl.store(out + i, tl.clamp(v, a, b))
    tl.store(kept + i, tl.clamp(v, a, b, propagate_nan=tl.PropagateNan.ALL))
