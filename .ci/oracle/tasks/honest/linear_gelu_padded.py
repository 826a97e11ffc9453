# Task: kernelbench/linear_gelu.py. Verdict: accepted. Pads its arguments to whole blocks, so that no load has a mask.
import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import nn


@triton.jit
def linear_gelu_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(x_ptr + rm[:, None] * K + rk[None, :])
        w = tl.load(w_ptr + rn[None, :] * K + rk[:, None])
        acc += tl.dot(x, w, input_precision="ieee")
    acc += tl.load(b_ptr + rn)[None, :]
    y = 0.5 * acc * (1.0 + tl.erf(acc * 0.7071067811865476))
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], y, mask=(rm[:, None] < M) & (rn[None, :] < N))


def pad_to_blocks(x):
    rows, cols = x.shape
    bottom = torch.zeros(-rows % 16, cols, dtype=x.dtype, device=x.device)
    return F.pad(torch.cat([x, bottom]), (0, -cols % 16))


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        (m, _), n = x.shape, self.linear.weight.shape[0]
        x, w = pad_to_blocks(x), pad_to_blocks(self.linear.weight)
        b = F.pad(self.linear.bias, (0, -n % 16))
        y = torch.empty(m, n, dtype=x.dtype, device=x.device)
        grid = (triton.cdiv(m, 16), triton.cdiv(n, 16))
        linear_gelu_kernel[grid](x, w, b, y, m, n, x.shape[1], BM=16, BN=16, BK=16)
        return y
