# Task: kernelbench/relu.py. Verdict: wrong. Ignores strides: wrong for a tensor that is not contiguous.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, tl.maximum(x, 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        storage = torch.as_strided(x, (x.numel(),), (1,), x.storage_offset())
        relu_kernel[(triton.cdiv(x.numel(), 256),)](storage, y, x.numel(), BLOCK=256)
        return y
