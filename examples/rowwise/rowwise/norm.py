"""Root mean square norm over the rows of a matrix."""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(out_ptr, x_ptr, weight_ptr, n_cols, x_stride, out_stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols <= n_cols
    x = tl.load(x_ptr + row * x_stride + cols, mask=mask, other=0.0)
    scale = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0)
    tl.store(out_ptr + row * out_stride + cols, x * scale * weight, mask=mask)


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    rms_norm_kernel[(rows,)](out, x, weight, cols, x.stride(0), out.stride(0), eps, BLOCK=block)
    return out
