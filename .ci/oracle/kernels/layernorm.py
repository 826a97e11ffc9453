"""Layer normalisation, forward and backward."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def layernorm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n_cols
    centred = tl.where(mask, x - mean, 0.0)
    var = tl.sum(centred * centred, axis=0) / n_cols
    rstd = 1.0 / tl.sqrt(var + eps)
    w = tl.load(w_ptr + cols, mask=mask).to(tl.float32)
    b = tl.load(b_ptr + cols, mask=mask).to(tl.float32)
    tl.store(y_ptr + row * n_cols + cols, centred * rstd * w + b, mask=mask)


def layernorm(x, w, b, eps):
    y = torch.empty_like(x)
    rows, cols = x.shape
    layernorm_kernel[(rows,)](x, w, b, y, cols, eps, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def layernorm_looped_kernel(X, Y, W, B, Mean, Rstd, stride, N, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    Y += row * stride
    X += row * stride
    _mean = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        _mean += tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
    mean = tl.sum(_mean, axis=0) / N
    _var = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        x = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.0)
        _var += x * x
    var = tl.sum(_var, axis=0) / N
    rstd = tl.rsqrt(var + eps)
    tl.store(Mean + row, mean)
    tl.store(Rstd + row, rstd)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        mask = cols < N
        w = tl.load(W + cols, mask=mask)
        b = tl.load(B + cols, mask=mask)
        x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(Y + cols, (x - mean) * rstd * w + b, mask=mask)


def layernorm_looped(x, w, b, eps):
    y = torch.empty_like(x)
    rows, cols = x.shape
    mean = torch.empty(rows, dtype=torch.float32, device=x.device)
    rstd = torch.empty(rows, dtype=torch.float32, device=x.device)
    layernorm_looped_kernel[(rows,)](x, y, w, b, mean, rstd, x.stride(0), cols, eps, BLOCK_SIZE=16)
    return y, mean, rstd


def layernorm_looped_reference(x, w, b, eps):
    mean = x.mean(-1)
    rstd = torch.rsqrt(x.var(-1, unbiased=False) + eps)
    return F.layer_norm(x, (x.shape[-1],), w, b, eps), mean, rstd


@triton.jit
def layernorm_plain_kernel(x_ptr, y_ptr, n_cols: tl.constexpr, eps: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / n_cols
    diff = tl.where(mask, x - mean, 0.0)
    var = tl.sum(diff * diff, axis=0) / n_cols
    tl.store(y_ptr + row * n_cols + cols, diff / tl.sqrt(var + eps), mask=mask)


def layernorm_plain(x):
    y = torch.empty_like(x)
    rows, cols = x.shape
    layernorm_plain_kernel[(rows,)](x, y, cols, 1e-3, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def layernorm_dx_kernel(dy_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, dx_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    where = row * n_cols + cols
    x = tl.load(x_ptr + where, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + where, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row)
    xhat = tl.where(mask, (x - mean) * rstd, 0.0)
    wdy = w * dy
    c1 = tl.sum(xhat * wdy, axis=0) / n_cols
    c2 = tl.sum(wdy, axis=0) / n_cols
    dx = (wdy - (xhat * c1 + c2)) * rstd
    tl.store(dx_ptr + where, dx, mask=mask)


def layernorm_dx(dy, x, w, mean, rstd):
    dx = torch.empty_like(x)
    rows, cols = x.shape
    layernorm_dx_kernel[(rows,)](dy, x, w, mean, rstd, dx, cols, BLOCK=triton.next_power_of_2(cols))
    return dx


def layernorm_dx_reference(dy, x, w, mean, rstd):
    xhat = (x - mean[:, None]) * rstd[:, None]
    g = w * dy
    return (g - xhat * (g * xhat).mean(-1, keepdim=True) - g.mean(-1, keepdim=True)) * rstd[:, None]


@triton.jit
def layernorm_dwdb_kernel(
    dy_ptr, x_ptr, mean_ptr, rstd_ptr, dw_ptr, db_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    dw = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    db = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for i in range(0, M, BLOCK_M):
        rows = i + tl.arange(0, BLOCK_M)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        offs = rows[:, None] * N + cols[None, :]
        dy = tl.load(dy_ptr + offs, mask=mask, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
        mean = tl.load(mean_ptr + rows, mask=rows < M, other=0.0)
        rstd = tl.load(rstd_ptr + rows, mask=rows < M, other=0.0)
        dw += dy * (x - mean[:, None]) * rstd[:, None]
        db += dy
    tl.store(dw_ptr + cols, tl.sum(dw, axis=0), mask=cols < N)
    tl.store(db_ptr + cols, tl.sum(db, axis=0), mask=cols < N)


def layernorm_dwdb(dy, x, mean, rstd):
    m, n = x.shape
    dw = torch.empty(n, dtype=torch.float32, device=x.device)
    db = torch.empty(n, dtype=torch.float32, device=x.device)
    layernorm_dwdb_kernel[(triton.cdiv(n, 8),)](dy, x, mean, rstd, dw, db, m, n, BLOCK_M=4, BLOCK_N=8)
    return dw, db


def layernorm_dwdb_reference(dy, x, mean, rstd):
    return (dy * (x - mean[:, None]) * rstd[:, None]).sum(0), dy.sum(0)


@triton.jit
def add_layernorm_kernel(x_ptr, res_ptr, w_ptr, b_ptr, sum_ptr, y_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    where = row * n_cols + cols
    x = tl.load(x_ptr + where, mask=mask, other=0.0).to(tl.float32)
    residual = tl.load(res_ptr + where, mask=mask, other=0.0).to(tl.float32)
    x = x + residual
    tl.store(sum_ptr + where, x, mask=mask)
    mean = tl.sum(x, axis=0) / n_cols
    xbar = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(xbar * xbar, axis=0) / n_cols + eps)
    w = tl.load(w_ptr + cols, mask=mask)
    b = tl.load(b_ptr + cols, mask=mask)
    tl.store(y_ptr + where, xbar * rstd * w + b, mask=mask)


def add_layernorm(x, residual, w, b):
    total, y = torch.empty_like(x), torch.empty_like(x)
    rows, cols = x.shape
    add_layernorm_kernel[(rows,)](x, residual, w, b, total, y, cols, 1e-5, BLOCK=triton.next_power_of_2(cols))
    return y, total


def add_layernorm_reference(x, residual, w, b):
    total = x + residual
    return F.layer_norm(total, (x.shape[-1],), w, b, 1e-5), total


def affine(make):
    half = torch.float16
    return [
        [make(3, 29), make(29), make(29), 1e-5],
        [make(4, 64, dtype=half), make(64, dtype=half), make(64, dtype=half), 1e-2],
    ]


CASES = [
    Case(
        "layernorm",
        layernorm,
        lambda x, w, b, eps: F.layer_norm(x, (x.shape[-1],), w, b, eps),
        affine,
        data=FINITE,
    ),
    Case(
        "layernorm_looped",
        layernorm_looped,
        layernorm_looped_reference,
        lambda make: [[make(3, 29), make(29), make(29), 1e-5], [make(2, 48), make(48), make(48), 1e-2]],
        data=FINITE,
    ),
    Case(
        "layernorm_plain",
        layernorm_plain,
        lambda x: F.layer_norm(x, (x.shape[-1],), eps=1e-3),
        lambda make: [[make(3, 29)], [make(5, 32)]],
        data=FINITE,
    ),
    Case(
        "layernorm_dx",
        layernorm_dx,
        layernorm_dx_reference,
        lambda make: [[make(3, 29), make(3, 29), make(29), make(3), make.uniform(3, low=0.5, high=2.0)]],
        data=FINITE,
    ),
    Case(
        "layernorm_dwdb",
        layernorm_dwdb,
        layernorm_dwdb_reference,
        lambda make: [[make(11, 21), make(11, 21), make(11), make.uniform(11, low=0.5, high=2.0)]],
    ),
    Case(
        "add_layernorm",
        add_layernorm,
        add_layernorm_reference,
        lambda make: [[make(3, 29), make(3, 29), make(29), make(29)]],
        data=FINITE,
    ),
]
