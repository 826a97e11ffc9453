"""Rotary position embeddings."""

import torch
import triton
import triton.language as tl
from case import Case


@triton.jit
def rope_half_kernel(x_ptr, cos_ptr, sin_ptr, y_ptr, heads, HALF: tl.constexpr):
    """Rotates the first half of a head against the second (GPT-NeoX)."""
    token = tl.program_id(0)
    head = tl.program_id(1)
    i = tl.arange(0, HALF)
    base = (token * heads + head) * 2 * HALF
    cos = tl.load(cos_ptr + token * HALF + i)
    sin = tl.load(sin_ptr + token * HALF + i)
    x1 = tl.load(x_ptr + base + i)
    x2 = tl.load(x_ptr + base + HALF + i)
    tl.store(y_ptr + base + i, x1 * cos - x2 * sin)
    tl.store(y_ptr + base + HALF + i, x2 * cos + x1 * sin)


def rope_half(x, cos, sin):
    y = torch.empty_like(x)
    tokens, heads, d = x.shape
    rope_half_kernel[(tokens, heads)](x, cos, sin, y, heads, HALF=d // 2)
    return y


def rope_half_reference(x, cos, sin):
    x1, x2 = x.chunk(2, -1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([x1 * cos - x2 * sin, x2 * cos + x1 * sin], -1)


@triton.jit
def rope_interleaved_kernel(x_ptr, cos_ptr, sin_ptr, y_ptr, heads, HALF: tl.constexpr):
    """Rotates even elements against odd ones (GPT-J)."""
    token = tl.program_id(0)
    head = tl.program_id(1)
    i = tl.arange(0, HALF)
    base = (token * heads + head) * 2 * HALF
    cos = tl.load(cos_ptr + token * HALF + i).to(tl.float32)
    sin = tl.load(sin_ptr + token * HALF + i).to(tl.float32)
    even = tl.load(x_ptr + base + 2 * i).to(tl.float32)
    odd = tl.load(x_ptr + base + 2 * i + 1).to(tl.float32)
    tl.store(y_ptr + base + 2 * i, even * cos - odd * sin)
    tl.store(y_ptr + base + 2 * i + 1, even * sin + odd * cos)


def rope_interleaved(x, cos, sin):
    y = torch.empty_like(x)
    tokens, heads, d = x.shape
    rope_interleaved_kernel[(tokens, heads)](x, cos, sin, y, heads, HALF=d // 2)
    return y


def rope_interleaved_reference(x, cos, sin):
    even, odd = x[..., 0::2], x[..., 1::2]
    cos, sin = cos[:, None], sin[:, None]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


@triton.jit
def rope_inplace_kernel(q_ptr, k_ptr, cos_ptr, sin_ptr, n_q, n_k, HALF: tl.constexpr, PAD: tl.constexpr):
    token = tl.program_id(0)
    i = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + token * HALF + i)
    sin = tl.load(sin_ptr + token * HALF + i)
    heads = tl.arange(0, PAD)
    q_at = (token * n_q + heads[:, None]) * (2 * HALF) + i[None, :]
    k_at = (token * n_k + heads[:, None]) * (2 * HALF) + i[None, :]
    q_mask = heads[:, None] < n_q
    k_mask = heads[:, None] < n_k
    q1 = tl.load(q_ptr + q_at, mask=q_mask, other=0)
    q2 = tl.load(q_ptr + q_at + HALF, mask=q_mask, other=0)
    k1 = tl.load(k_ptr + k_at, mask=k_mask, other=0)
    k2 = tl.load(k_ptr + k_at + HALF, mask=k_mask, other=0)
    tl.store(q_ptr + q_at, q1 * cos[None, :] - q2 * sin[None, :], mask=q_mask)
    tl.store(q_ptr + q_at + HALF, q2 * cos[None, :] + q1 * sin[None, :], mask=q_mask)
    tl.store(k_ptr + k_at, k1 * cos[None, :] - k2 * sin[None, :], mask=k_mask)
    tl.store(k_ptr + k_at + HALF, k2 * cos[None, :] + k1 * sin[None, :], mask=k_mask)


def rope_inplace(q, k, cos, sin):
    tokens, n_q, d = q.shape
    n_k = k.shape[1]
    pad = triton.next_power_of_2(max(n_q, n_k))
    rope_inplace_kernel[(tokens,)](q, k, cos, sin, n_q, n_k, HALF=d // 2, PAD=pad)


def rope_inplace_reference(q, k, cos, sin):
    return rope_half_reference(q, cos, sin), rope_half_reference(k, cos, sin)


@triton.jit
def rope_table_kernel(pos_ptr, freq_ptr, cos_ptr, sin_ptr, n, HALF: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i = tl.arange(0, HALF)
    mask = rows[:, None] < n
    pos = tl.load(pos_ptr + rows, mask=rows < n, other=0).to(tl.float32)
    freq = tl.load(freq_ptr + i)
    angle = pos[:, None] * freq[None, :]
    where = rows[:, None] * HALF + i[None, :]
    tl.store(cos_ptr + where, tl.cos(angle), mask=mask)
    tl.store(sin_ptr + where, tl.sin(angle), mask=mask)


def rope_table(pos, freq):
    n, half = pos.numel(), freq.numel()
    cos = torch.empty((n, half), dtype=torch.float32, device=pos.device)
    sin = torch.empty_like(cos)
    rope_table_kernel[(triton.cdiv(n, 4),)](pos, freq, cos, sin, n, HALF=half, BLOCK=4)
    return cos, sin


def rope_table_reference(pos, freq):
    angle = pos[:, None] * freq
    return torch.cos(angle), torch.sin(angle)


def angles(make, n, half):
    a = make.uniform(n, half, high=6.0)
    return [torch.cos(a), torch.sin(a)]


CASES = [
    Case("rope_half", rope_half, rope_half_reference, lambda make: [[make(5, 2, 16), *angles(make, 5, 8)]]),
    Case(
        "rope_interleaved",
        rope_interleaved,
        rope_interleaved_reference,
        lambda make: [
            [make(5, 2, 16), *angles(make, 5, 8)],
            [make(3, 1, 8, dtype=torch.float16), *[a.half() for a in angles(make, 3, 4)]],
        ],
    ),
    Case(
        "rope_inplace",
        rope_inplace,
        rope_inplace_reference,
        lambda make: [[make(5, 3, 16), make(5, 1, 16), *angles(make, 5, 8)]],
    ),
    Case(
        "rope_table",
        rope_table,
        rope_table_reference,
        lambda make: [[make.ints(7, high=50), torch.tensor([1.0, 0.5, 0.25, 0.125])]],
        data="given",
    ),
]
