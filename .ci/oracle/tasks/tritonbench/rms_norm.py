"""A task in the form of TritonBench-G: a kernel and its wrapper, a line of 146 signs, and a test that returns results by name."""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, weight_ptr, out_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    weight = tl.load(weight_ptr + cols, mask=mask)
    tl.store(out_ptr + row * n_cols + cols, x * scale * weight, mask=mask)


def rms_norm(x, weight, eps=1e-6):
    out = torch.empty_like(x)
    rows, cols = x.shape
    rms_norm_kernel[(rows,)](x, weight, out, cols, eps, BLOCK=triton.next_power_of_2(cols))
    return out


##################################################################################################################################################


def test_rms_norm():
    results = {}
    torch.manual_seed(0)
    x = torch.randn(5, 29)
    results["test_case_1"] = rms_norm(x, torch.ones(29))
    results["test_case_2"] = rms_norm(x * 3, torch.ones(29), eps=1e-5)
    return results


result_gold = test_rms_norm()
