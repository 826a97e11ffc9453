# Task: tritonbench/rms_norm.py. Verdict: accepted. Two passes over the row, in blocks.
import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm_looped_kernel(x_ptr, weight_ptr, out_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
        total += x * x
    scale = tl.rsqrt(tl.sum(total, axis=0) / n_cols + eps)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + cols, mask=mask)
        tl.store(out_ptr + row * n_cols + cols, x * scale * weight, mask=mask)


def rms_norm(x, weight, eps=1e-6):
    out = torch.empty_like(x)
    rows, cols = x.shape
    rms_norm_looped_kernel[(rows,)](x, weight, out, cols, eps, BLOCK=16)
    return out
