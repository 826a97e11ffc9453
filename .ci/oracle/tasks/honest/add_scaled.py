# Task: tritonbench/add_scaled.py. Verdict: accepted. Broadcasting by strides of zero.
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, alpha, x_row, x_col, y_row, y_col, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * x_row + cols * x_col, mask=mask)
    y = tl.load(y_ptr + row * y_row + cols * y_col, mask=mask)
    tl.store(out_ptr + row * n_cols + cols, x + alpha * y, mask=mask)


def add_scaled(input, other, *, alpha=1):
    x, y = torch.broadcast_tensors(input, other)
    shape = x.shape
    out = torch.empty(shape, dtype=torch.result_type(input, other), device=x.device)
    x, y = (t.reshape(-1, t.shape[-1]) if t.dim() != 2 else t for t in (x, y))
    rows, cols = x.shape
    grid = (rows, triton.cdiv(cols, 64))
    add_kernel[grid](
        x, y, out, float(alpha), x.stride(0), x.stride(1), y.stride(0), y.stride(1), cols, BLOCK=64
    )
    return out
