"""Distances and similarities of rows."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def pairwise_kernel(x_ptr, y_ptr, out_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Squared distances, as |x|^2 - 2 x y + |y|^2."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    dot = tl.zeros((BM, BN), tl.float32)
    xx = tl.zeros([BM], tl.float32)
    yy = tl.zeros([BN], tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(
            x_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0
        )
        y = tl.load(
            y_ptr + rn[:, None] * K + rk[None, :], mask=(rn[:, None] < N) & (rk[None, :] < K), other=0.0
        )
        dot += tl.dot(x, tl.trans(y), input_precision="ieee")
        xx += tl.sum(x * x, axis=1)
        yy += tl.sum(y * y, axis=1)
    d = xx[:, None] - 2.0 * dot + yy[None, :]
    tl.store(out_ptr + rm[:, None] * N + rn[None, :], d, mask=(rm[:, None] < M) & (rn[None, :] < N))


def pairwise(x, y):
    m, k = x.shape
    n = y.shape[0]
    out = torch.empty((m, n), dtype=x.dtype, device=x.device)
    pairwise_kernel[(triton.cdiv(m, 16), triton.cdiv(n, 16))](x, y, out, m, n, k, BM=16, BN=16, BK=16)
    return out


@triton.jit
def cosine_kernel(x_ptr, y_ptr, out_ptr, width, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < width
    x = tl.load(x_ptr + row * width + cols, mask=mask, other=0.0)
    y = tl.load(y_ptr + row * width + cols, mask=mask, other=0.0)
    dot = tl.sum(x * y, axis=0)
    x_norm = tl.maximum(tl.sqrt(tl.sum(x * x, axis=0)), eps)
    y_norm = tl.maximum(tl.sqrt(tl.sum(y * y, axis=0)), eps)
    tl.store(out_ptr + row, dot / (x_norm * y_norm))


def cosine(x, y):
    rows, width = x.shape
    out = torch.empty(rows, dtype=x.dtype, device=x.device)
    cosine_kernel[(rows,)](x, y, out, width, 1e-8, BLOCK=triton.next_power_of_2(width))
    return out


@triton.jit
def manhattan_kernel(x_ptr, y_ptr, out_ptr, N, width, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.program_id(1)
    cols = tl.arange(0, BLOCK)
    mask = cols < width
    x = tl.load(x_ptr + i * width + cols, mask=mask, other=0.0)
    y = tl.load(y_ptr + j * width + cols, mask=mask, other=0.0)
    tl.store(out_ptr + i * N + j, tl.sum(tl.abs(x - y), axis=0))


def manhattan(x, y):
    m, width = x.shape
    n = y.shape[0]
    out = torch.empty((m, n), dtype=x.dtype, device=x.device)
    manhattan_kernel[(m, n)](x, y, out, n, width, BLOCK=triton.next_power_of_2(width))
    return out


@triton.jit
def dot_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
        y = tl.load(y_ptr + i, mask=i < n, other=0.0).to(tl.float32)
        acc += x * y
    tl.store(out_ptr, tl.sum(acc, axis=0))


def dot(x, y):
    out = torch.empty((), dtype=torch.float32, device=x.device)
    dot_kernel[(1,)](x, y, out, x.numel(), BLOCK=32)
    return out


@triton.jit
def rbf_kernel(x_ptr, y_ptr, out_ptr, gamma, N, width, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.program_id(1)
    cols = tl.arange(0, BLOCK)
    mask = cols < width
    d = tl.load(x_ptr + i * width + cols, mask=mask, other=0.0)
    d -= tl.load(y_ptr + j * width + cols, mask=mask, other=0.0)
    tl.store(out_ptr + i * N + j, tl.exp(-gamma * tl.sum(d * d, axis=0)))


def rbf(x, y, gamma):
    m, width = x.shape
    n = y.shape[0]
    out = torch.empty((m, n), dtype=x.dtype, device=x.device)
    rbf_kernel[(m, n)](x, y, out, gamma, n, width, BLOCK=triton.next_power_of_2(width))
    return out


CASES = [
    Case(
        "pairwise",
        pairwise,
        lambda x, y: ((x[:, None] - y) ** 2).sum(-1),
        lambda make: [[make(17, 20), make(19, 20)]],
        data=FINITE,
    ),
    Case("cosine", cosine, F.cosine_similarity, lambda make: [[make(5, 21), make(5, 21)]], data=FINITE),
    Case(
        "manhattan",
        manhattan,
        lambda x, y: (x[:, None] - y).abs().sum(-1),
        lambda make: [[make(3, 13), make(5, 13)]],
    ),
    Case(
        "dot",
        dot,
        torch.dot,
        lambda make: [[make(99), make(99)], [make(64, dtype=torch.float16), make(64, dtype=torch.float16)]],
    ),
    Case(
        "rbf",
        rbf,
        lambda x, y, g: torch.exp(-g * ((x[:, None] - y) ** 2).sum(-1)),
        lambda make: [[make(3, 13), make(5, 13), 0.1]],
    ),
]
