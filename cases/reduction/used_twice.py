import triton
import triton.language as tl


@triton.jit
def used_twice_kernel(x, reversed_sums, sums, n, N: tl.constexpr):
    rows = tl.arange(0, N)
    total = tl.zeros([N], tl.float32)
    for _ in range(n):
        total += tl.sum(tl.load(x + rows[:, None] * N + rows[None, :]), axis=1)
    tl.store(reversed_sums + rows, tl.flip(total, 0))
    tl.store(sums + rows, total)
