import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, K: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    k = tl.arange(0, K)
    x = tl.load(a + i[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + i[None, :])
    tl.store(c + i[:, None] * N + i[None, :], tl.dot(x, y))
