import triton
import triton.language as tl


@triton.jit
def add_one_kernel(ptr, stride_0, stride_1, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.arange(0, ROWS)[:, None]
    col = tl.arange(0, COLS)[None, :]
    mask = (row < rows) & (col < cols)
    at = ptr + row * stride_0 + col * stride_1
    tl.store(at, tl.load(at, mask=mask) + 1, mask=mask)
