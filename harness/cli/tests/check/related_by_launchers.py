"""Launches whose arguments are related by more than their names show."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_groups(x_ptr, scale_ptr, out_ptr, n, GROUP: tl.constexpr, BLOCK_K: tl.constexpr):
    """One scale for each group: a block lies within one."""
    row = tl.program_id(0)
    total = tl.zeros([BLOCK_K], tl.float32)
    for first in range(0, n, BLOCK_K):
        offs = first + tl.arange(0, BLOCK_K)
        scale = tl.load(scale_ptr + first // GROUP)
        total += scale * tl.load(x_ptr + row * n + offs, mask=offs < n, other=0.0)
    tl.store(out_ptr + row, tl.sum(total, axis=0))


def scaled_sums(x, scale):
    x = x.contiguous()
    rows, n = x.shape
    assert scale.shape == (triton.cdiv(n, 64),)
    out = torch.empty(rows, device=x.device)
    scale_groups[(rows,)](x, scale, out, n, GROUP=64, BLOCK_K=64)
    return out


@triton.jit
def add_rows(a_ptr, b_ptr, out_ptr, n, stride_a, BLOCK: tl.constexpr):
    """Both inputs have the strides of one, and the output has its own."""
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + row * stride_a + offs, mask=offs < n)
    b = tl.load(b_ptr + row * stride_a + offs, mask=offs < n)
    tl.store(out_ptr + row * n + offs, a + b, mask=offs < n)


def add(a, b):
    assert a.shape == b.shape
    a, b = a.contiguous(), b.contiguous()
    rows, n = a.shape
    out = torch.empty((rows, n), device=a.device)
    add_rows[(rows,)](a, b, out, n, a.stride(0), BLOCK=triton.next_power_of_2(n))
    return out


@triton.jit
def sum_chunks(x_ptr, sums_ptr, n, CHUNK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * CHUNK + tl.arange(0, CHUNK)
    tl.store(sums_ptr + pid, tl.sum(tl.load(x_ptr + offs, mask=offs < n, other=0.0), axis=0))


@triton.jit
def add_before(x_ptr, sums_ptr, out_ptr, n, CHUNK: tl.constexpr):
    """Another kernel wrote a sum for each chunk."""
    pid = tl.program_id(0)
    before = 0.0
    for chunk in range(0, pid):
        before += tl.load(sums_ptr + chunk)
    offs = pid * CHUNK + tl.arange(0, CHUNK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + before, mask=offs < n)


def add_sums(x):
    x = x.contiguous().view(-1)
    n = x.numel()
    chunks = triton.cdiv(n, 64)
    sums = torch.empty(chunks, device=x.device)
    out = torch.empty(n, device=x.device)
    sum_chunks[(chunks,)](x, sums, n, CHUNK=64)
    add_before[(chunks,)](x, sums, out, n, CHUNK=64)
    return out


@triton.jit
def sum_segments(x_ptr, ends_ptr, out_ptr, D, BLOCK: tl.constexpr):
    segment = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for row in range(tl.load(ends_ptr + segment), tl.load(ends_ptr + segment + 1)):
        total += tl.load(x_ptr + row * D + offs, mask=offs < D, other=0.0)
    tl.store(out_ptr + segment * D + offs, total, mask=offs < D)


def segment_sums(x, ends):
    x = x.contiguous()
    _, D = x.shape
    out = torch.empty((ends.numel() - 1, D), device=x.device)
    sum_segments[(ends.numel() - 1,)](x, ends, out, D, BLOCK=triton.next_power_of_2(D))
    return out
