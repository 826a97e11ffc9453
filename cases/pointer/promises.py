import triton
import triton.language as tl


@triton.jit
def promised_tile_kernel(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    columns = tl.arange(0, BLOCK)
    offsets = rows[:, None] * stride + columns[None, :]
    x = tl.load(tl.multiple_of(x_ptr + offsets, [16, 16]))
    tl.store(out_ptr + rows[:, None] * BLOCK + columns[None, :], x)
