import triton
import triton.language as tl


@triton.jit
def underflow_kernel(x, y, out, PRECISION: tl.constexpr, N: tl.constexpr):
    n = tl.arange(0, N)
    rows, columns = n[:, None] * N, n[None, :]
    product = tl.dot(tl.load(x + rows + columns), tl.load(y + rows + columns), input_precision=PRECISION)
    tl.store(out + rows + columns, product)
