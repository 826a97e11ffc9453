"""RMS normalisation, forward and backward."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def rmsnorm_kernel(x_ptr, w_ptr, y_ptr, stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    mean_square = tl.sum(x * x, axis=0) / n_cols
    rstd = tl.rsqrt(mean_square + eps)
    w = tl.load(w_ptr + cols, mask=mask)
    tl.store(y_ptr + row * stride + cols, x * rstd * w, mask=mask)


def rmsnorm(x, w, eps):
    y = torch.empty_like(x)
    rows, cols = x.shape
    rmsnorm_kernel[(rows,)](x, w, y, x.stride(0), cols, eps, BLOCK=triton.next_power_of_2(cols))
    return y


def rmsnorm_reference(x, w, eps):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * w


@triton.jit
def rmsnorm_looped_kernel(x_ptr, w_ptr, y_ptr, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * N
    y_ptr += row * N
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
        acc += x * x
    rms = tl.sqrt(tl.sum(acc, axis=0) / N + eps)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < N).to(tl.float32)
        w = tl.load(w_ptr + cols, mask=cols < N).to(tl.float32)
        tl.store(y_ptr + cols, x / rms * w, mask=cols < N)


def rmsnorm_looped(x, w, eps):
    y = torch.empty_like(x)
    rows, cols = x.shape
    rmsnorm_looped_kernel[(rows,)](x, w, y, cols, eps, BLOCK=16)
    return y


@triton.jit
def add_rmsnorm_kernel(x_ptr, res_ptr, w_ptr, y_ptr, n_cols, eps, BLOCK: tl.constexpr):
    """Adds `x` to the residual in place, and stores the norm of the sum."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    where = row * n_cols + cols
    h = tl.load(x_ptr + where, mask=mask, other=0.0).to(tl.float32)
    h += tl.load(res_ptr + where, mask=mask, other=0.0).to(tl.float32)
    tl.store(res_ptr + where, h, mask=mask)
    var = tl.sum(h * h, axis=0) / n_cols
    w = tl.load(w_ptr + cols, mask=mask)
    tl.store(y_ptr + where, h * (1.0 / tl.sqrt(var + eps)) * w, mask=mask)


def add_rmsnorm(x, residual, w):
    y = torch.empty_like(x)
    rows, cols = x.shape
    add_rmsnorm_kernel[(rows,)](x, residual, w, y, cols, 1e-6, BLOCK=triton.next_power_of_2(cols))
    return y, residual


def add_rmsnorm_reference(x, residual, w):
    h = x + residual
    return rmsnorm_reference(h, w, 1e-6), h


@triton.jit
def gemma_rmsnorm_kernel(x_ptr, w_ptr, y_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    norm = x * tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    tl.store(y_ptr + row * n_cols + cols, norm * (1.0 + w), mask=mask)


def gemma_rmsnorm(x, w):
    y = torch.empty_like(x)
    rows, cols = x.shape
    gemma_rmsnorm_kernel[(rows,)](x, w, y, cols, 1e-6, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def rmsnorm_dx_kernel(dy_ptr, x_ptr, w_ptr, dx_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    where = row * n_cols + cols
    dy = tl.load(dy_ptr + where, mask=mask, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + where, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    rstd = tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    m = dy * w
    dot = tl.sum(m * x, axis=0)
    dx = rstd * m - rstd * rstd * rstd * dot / n_cols * x
    tl.store(dx_ptr + where, dx, mask=mask)


def rmsnorm_dx(dy, x, w):
    dx = torch.empty_like(x)
    rows, cols = x.shape
    rmsnorm_dx_kernel[(rows,)](dy, x, w, dx, cols, 1e-6, BLOCK=triton.next_power_of_2(cols))
    return dx


def rmsnorm_dx_reference(dy, x, w):
    rstd = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)
    m = dy * w
    return rstd * m - rstd**3 * (m * x).mean(-1, keepdim=True) * x


@triton.jit
def l2_norm_kernel(x_ptr, y_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    norm = tl.sqrt(tl.sum(x * x, axis=0))
    tl.store(y_ptr + row * n_cols + cols, x / tl.maximum(norm, eps), mask=mask)


def l2_norm(x):
    y = torch.empty_like(x)
    rows, cols = x.shape
    l2_norm_kernel[(rows,)](x, y, cols, 1e-12, BLOCK=triton.next_power_of_2(cols))
    return y


def with_weight(make):
    half = torch.bfloat16
    return [[make(3, 29), make(29), 1e-6], [make(4, 64, dtype=half), make(64, dtype=half), 1e-3]]


CASES = [
    Case("rmsnorm", rmsnorm, rmsnorm_reference, with_weight),
    Case("rmsnorm_looped", rmsnorm_looped, rmsnorm_reference, with_weight),
    Case(
        "add_rmsnorm",
        add_rmsnorm,
        add_rmsnorm_reference,
        lambda make: [[make(3, 29), make(3, 29), make(29)]],
    ),
    Case(
        "gemma_rmsnorm",
        gemma_rmsnorm,
        lambda x, w: rmsnorm_reference(x, 1 + w, 1e-6),
        lambda make: [
            [make(3, 29), make(29)],
            [make(2, 16, dtype=torch.float16), make(16, dtype=torch.float16)],
        ],
    ),
    Case("rmsnorm_dx", rmsnorm_dx, rmsnorm_dx_reference, lambda make: [[make(3, 29), make(3, 29), make(29)]]),
    Case(
        "l2_norm",
        l2_norm,
        lambda x: F.normalize(x, dim=-1),
        lambda make: [[make(3, 29)], [make(5, 8)]],
        data=FINITE,
    ),
]
