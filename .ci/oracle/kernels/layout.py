"""Transposing, cutting and joining tensors."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def transpose_kernel(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    x = tl.load(x_ptr + rm[:, None] * N + rn[None, :], mask=(rm[:, None] < M) & (rn[None, :] < N))
    tl.store(y_ptr + rn[:, None] * M + rm[None, :], tl.trans(x), mask=(rn[:, None] < N) & (rm[None, :] < M))


def transpose(x):
    m, n = x.shape
    y = torch.empty((n, m), dtype=x.dtype, device=x.device)
    transpose_kernel[(triton.cdiv(m, 8), triton.cdiv(n, 8))](x, y, m, n, BM=8, BN=8)
    return y


@triton.jit
def permute_kernel(x_ptr, y_ptr, A, B, C, n, BLOCK: tl.constexpr):
    """(A, B, C) to (C, A, B)."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    b = i % B
    a = i // B % A
    c = i // (A * B)
    tl.store(y_ptr + i, tl.load(x_ptr + (a * B + b) * C + c, mask=mask), mask=mask)


def permute(x):
    a, b, c = x.shape
    y = torch.empty((c, a, b), dtype=x.dtype, device=x.device)
    n = x.numel()
    permute_kernel[(triton.cdiv(n, 32),)](x, y, a, b, c, n, BLOCK=32)
    return y


@triton.jit
def flip_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + n_cols - 1 - cols, mask=mask)
    tl.store(y_ptr + row * n_cols + cols, x, mask=mask)


def flip(x):
    y = torch.empty_like(x)
    rows, cols = x.shape
    flip_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def roll_kernel(x_ptr, y_ptr, shift, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(y_ptr + i, tl.load(x_ptr + (i + n - shift) % n, mask=mask), mask=mask)


def roll(x, shift):
    y = torch.empty_like(x)
    n = x.numel()
    roll_kernel[(triton.cdiv(n, 32),)](x, y, shift, n, BLOCK=32)
    return y


@triton.jit
def concat_kernel(a_ptr, b_ptr, y_ptr, na, nb, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + row * na + cols, mask=cols < na, other=0.0)
    b = tl.load(b_ptr + row * nb + cols - na, mask=(cols >= na) & (cols < na + nb), other=0.0)
    tl.store(y_ptr + row * (na + nb) + cols, tl.where(cols < na, a, b), mask=cols < na + nb)


def concat(a, b):
    rows, na = a.shape
    nb = b.shape[1]
    y = torch.empty((rows, na + nb), dtype=a.dtype, device=a.device)
    concat_kernel[(rows,)](a, b, y, na, nb, BLOCK=triton.next_power_of_2(na + nb))
    return y


@triton.jit
def pad_kernel(x_ptr, y_ptr, left, n_in, n_out, value, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = (cols >= left) & (cols < left + n_in)
    x = tl.load(x_ptr + row * n_in + cols - left, mask=inside, other=value)
    tl.store(y_ptr + row * n_out + cols, x, mask=cols < n_out)


def pad(x, left, right, value):
    rows, n = x.shape
    total = left + n + right
    y = torch.empty((rows, total), dtype=x.dtype, device=x.device)
    pad_kernel[(rows,)](x, y, left, n, total, value, BLOCK=triton.next_power_of_2(total))
    return y


@triton.jit
def tril_kernel(x_ptr, y_ptr, M, N, diagonal, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (i[:, None] < M) & (j[None, :] < N)
    at = i[:, None] * N + j[None, :]
    x = tl.load(x_ptr + at, mask=mask)
    tl.store(y_ptr + at, tl.where(j[None, :] <= i[:, None] + diagonal, x, 0.0), mask=mask)


def tril(x, diagonal):
    y = torch.empty_like(x)
    m, n = x.shape
    tril_kernel[(triton.cdiv(m, 8), triton.cdiv(n, 8))](x, y, m, n, diagonal, BM=8, BN=8)
    return y


@triton.jit
def diag_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i * n + j, tl.where(i == j, x, 0.0), mask=j < n)


def diag(x):
    n = x.numel()
    y = torch.empty((n, n), dtype=x.dtype, device=x.device)
    diag_kernel[(n,)](x, y, n, BLOCK=triton.next_power_of_2(n))
    return y


@triton.jit
def interleave_kernel(a_ptr, b_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    y = tl.interleave(tl.load(a_ptr + i), tl.load(b_ptr + i))
    tl.store(y_ptr + tl.arange(0, 2 * BLOCK), y)


def interleave(a, b):
    y = torch.empty(2 * a.numel(), dtype=a.dtype, device=a.device)
    interleave_kernel[(1,)](a, b, y, BLOCK=a.numel())
    return y


@triton.jit
def split_heads_kernel(qkv_ptr, q_ptr, k_ptr, v_ptr, tokens, HEADS: tl.constexpr, D: tl.constexpr):
    """(tokens, 3, heads, D) to three of (heads, tokens, D)."""
    t = tl.program_id(0)
    h = tl.program_id(1)
    d = tl.arange(0, D)
    source = qkv_ptr + (t * 3 * HEADS + h) * D + d
    to = (h * tokens + t) * D + d
    tl.store(q_ptr + to, tl.load(source))
    tl.store(k_ptr + to, tl.load(source + HEADS * D))
    tl.store(v_ptr + to, tl.load(source + 2 * HEADS * D))


def split_heads(qkv):
    tokens, _, heads, d = qkv.shape
    q, k, v = (torch.empty((heads, tokens, d), dtype=qkv.dtype, device=qkv.device) for _ in range(3))
    split_heads_kernel[(tokens, heads)](qkv, q, k, v, tokens, HEADS=heads, D=d)
    return q, k, v


@triton.jit
def block_copy_kernel(x_ptr, y_ptr, M, N, scale, BM: tl.constexpr, BN: tl.constexpr):
    """Block pointers, with checked boundaries."""
    x_block = tl.make_block_ptr(
        x_ptr,
        shape=(M, N),
        strides=(N, 1),
        offsets=(tl.program_id(0) * BM, 0),
        block_shape=(BM, BN),
        order=(1, 0),
    )
    y_block = tl.make_block_ptr(
        y_ptr,
        shape=(M, N),
        strides=(N, 1),
        offsets=(tl.program_id(0) * BM, 0),
        block_shape=(BM, BN),
        order=(1, 0),
    )
    for _ in range(tl.cdiv(N, BN)):
        x = tl.load(x_block, boundary_check=(0, 1), padding_option="zero")
        tl.store(y_block, x * scale, boundary_check=(0, 1))
        x_block = tl.advance(x_block, (0, BN))
        y_block = tl.advance(y_block, (0, BN))


def block_copy(x, scale):
    y = torch.empty_like(x)
    m, n = x.shape
    block_copy_kernel[(triton.cdiv(m, 8),)](x, y, m, n, scale, BM=8, BN=8)
    return y


CASES = [
    Case("transpose", transpose, lambda x: x.t(), lambda make: [[make(13, 21)], [make(8, 16)]]),
    Case("permute", permute, lambda x: x.permute(2, 0, 1), lambda make: [[make(3, 5, 7)]]),
    Case("flip", flip, lambda x: x.flip(-1), lambda make: [[make(3, 13)]]),
    Case("roll", roll, torch.roll, lambda make: [[make(50), 7]]),
    Case(
        "concat",
        concat,
        lambda a, b: torch.cat([a, b], 1),
        lambda make: [[make(3, 7), make(3, 11)]],
        data=FINITE,
    ),
    Case("pad", pad, lambda x, a, b, v: F.pad(x, (a, b), value=v), lambda make: [[make(3, 13), 2, 5, 1.5]]),
    Case("tril", tril, torch.tril, lambda make: [[make(13, 11), 1], [make(8, 8), 0]], data=FINITE),
    Case("diag", diag, torch.diag, lambda make: [[make(13)]], data=FINITE),
    Case(
        "interleave",
        interleave,
        lambda a, b: torch.stack([a, b], 1).flatten(),
        lambda make: [[make(16), make(16)]],
    ),
    Case(
        "split_heads",
        split_heads,
        lambda x: tuple(x.permute(1, 2, 0, 3)),
        lambda make: [[make(5, 3, 2, 16)]],
    ),
    Case("block_copy", block_copy, lambda x, s: x * s, lambda make: [[make(13, 21), 0.5]]),
]
