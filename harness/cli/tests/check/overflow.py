"""Kernels whose integers wrap in large tensors, with fixed ones, and wraps that are intended."""

import torch
import triton
import triton.language as tl


@triton.jit
def padded_rows(x, out, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    rows = x + row * stride + cols
    tl.store(out + row.to(tl.int64) * n_cols + cols, tl.load(rows, mask=cols < n_cols), mask=cols < n_cols)


def pad(x):
    m, n = x.shape
    out = torch.empty((m, n), device=x.device, dtype=x.dtype)
    padded_rows[(m,)](x, out, x.stride(0), n, BLOCK=triton.next_power_of_2(n))
    return out


@triton.jit
def flat(x, out, numel, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < numel
    tl.store(out + offsets, tl.load(x + offsets, mask=mask), mask=mask)


def run_flat(x):
    out = torch.empty_like(x)
    flat[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out


@triton.jit
def flat_wide(x, out, numel, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < numel
    tl.store(out + offsets, tl.load(x + offsets, mask=mask), mask=mask)


def run_flat_wide(x):
    out = torch.empty_like(x)
    flat_wide[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out


@triton.jit
def batched(x, out, stride_b, stride_r, n_cols, BLOCK: tl.constexpr):
    batch = tl.program_id(0)
    row = tl.program_id(1)
    cols = tl.arange(0, BLOCK)
    offsets = batch * stride_b + row * stride_r + cols
    tl.store(out + offsets, tl.load(x + offsets, mask=cols < n_cols), mask=cols < n_cols)


def run_batched(x):
    b, m, n = x.shape
    x = x.contiguous()
    out = torch.empty_like(x)
    batched[(b, m)](x, out, x.stride(0), x.stride(1), n, BLOCK=triton.next_power_of_2(n))
    return out


@triton.jit
def row_major(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    offsets = rows[:, None] * N + cols[None, :]
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(out + offsets, tl.load(x + offsets, mask=mask), mask=mask)


def run_row_major(x):
    m, n = x.shape
    x = x.contiguous()
    out = torch.empty_like(x)
    row_major[(triton.cdiv(m, 16), triton.cdiv(n, 16))](x, out, m, n, BM=16, BN=16)
    return out


@triton.jit
def column_sums(x, out, M, N, stride, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(M):
        total += tl.load(x + row * stride + cols, mask=cols < N, other=0.0)
    tl.store(out + cols, total, mask=cols < N)


def run_column_sums(x):
    m, n = x.shape
    out = torch.empty((n,), device=x.device, dtype=torch.float32)
    column_sums[(triton.cdiv(n, 64),)](x, out, m, n, x.stride(0), BLOCK=64)
    return out


@triton.jit
def column_sums_wide(x, out, M, N, stride, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(M):
        total += tl.load(x + row.to(tl.int64) * stride + cols, mask=cols < N, other=0.0)
    tl.store(out + cols, total, mask=cols < N)


def run_column_sums_wide(x):
    m, n = x.shape
    out = torch.empty((n,), device=x.device, dtype=torch.float32)
    column_sums_wide[(triton.cdiv(n, 64),)](x, out, m, n, x.stride(0), BLOCK=64)
    return out


@triton.jit
def hashed(x, out, n, SLOTS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = (i.to(tl.uint32) * 2654435761) ^ (i.to(tl.uint32) >> 7)
    slot = (h % SLOTS).to(tl.int32)
    value = tl.load(x + slot, mask=i < n, other=0.0)
    tl.store(out + i.to(tl.int64), value * (i * 1103515245 + 12345).to(tl.float32), mask=i < n)


def run_hashed(x, n: int):
    out = torch.empty((n,), device=x.device, dtype=x.dtype)
    x = torch.empty((64,), device=x.device, dtype=x.dtype)
    hashed[(triton.cdiv(n, 64),)](x, out, n, SLOTS=64, BLOCK=64)
    return out


@triton.jit
def random_mask(x, out, n, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, i) > 0.5
    value = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, tl.where(keep, value, 0.0), mask=i < n)


def run_random(x):
    out = torch.empty_like(x)
    random_mask[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), 7, BLOCK=64)
    return out
