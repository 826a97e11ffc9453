"""Attention: forward passes, in a block or online, and decoding."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def attention_kernel(
    Q, K, V, Out, sm_scale, N_CTX, HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):  # fmt: skip
    start_m = tl.program_id(0)
    head = tl.program_id(1)
    base = head * N_CTX * HEAD
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD)
    q = tl.load(Q + base + offs_m[:, None] * HEAD + offs_d[None, :], mask=offs_m[:, None] < N_CTX, other=0.0)
    m_i = tl.full([BLOCK_M], -float("inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    qk_scale = sm_scale * 1.4426950408889634
    for start_n in range(0, N_CTX, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        k = tl.load(
            K + base + offs_n[None, :] * HEAD + offs_d[:, None], mask=offs_n[None, :] < N_CTX, other=0.0
        )
        v = tl.load(
            V + base + offs_n[:, None] * HEAD + offs_d[None, :], mask=offs_n[:, None] < N_CTX, other=0.0
        )
        qk = tl.dot(q, k) * qk_scale
        qk = tl.where(offs_n[None, :] < N_CTX, qk, -1.0e6)
        if CAUSAL:
            qk = tl.where(offs_m[:, None] >= offs_n[None, :], qk, -1.0e6)
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m_i = m_ij
    acc = acc / l_i[:, None]
    tl.store(
        Out + base + offs_m[:, None] * HEAD + offs_d[None, :],
        acc.to(Out.dtype.element_ty),
        mask=offs_m[:, None] < N_CTX,
    )


def attention(q, k, v, causal):
    o = torch.empty_like(q)
    batch, heads, n, d = q.shape
    grid = (triton.cdiv(n, 16), batch * heads)
    attention_kernel[grid](q, k, v, o, d**-0.5, n, HEAD=d, BLOCK_M=16, BLOCK_N=16, CAUSAL=causal)
    return o


def attention_full(q, k, v):
    return attention(q, k, v, False)


def attention_causal(q, k, v):
    return attention(q, k, v, True)


@triton.jit
def gqa_kernel(
    Q, K, V, Out, scale, q_heads, kv_heads, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    h = tl.program_id(1)
    b = tl.program_id(2)
    kv = h // (q_heads // kv_heads)
    d = tl.arange(0, D)
    q_base = (b * q_heads + h) * n * D
    k_base = (b * kv_heads + kv) * n * D
    q = tl.load(Q + q_base + rows[:, None] * D + d[None, :], mask=rows[:, None] < n, other=0.0)
    m = tl.full([BM], -float("inf"), tl.float32)
    l = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in range(0, n, BN):
        cols = start + tl.arange(0, BN)
        k = tl.load(K + k_base + cols[:, None] * D + d[None, :], mask=cols[:, None] < n, other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale
        s = tl.where((cols[None, :] <= rows[:, None]) & (cols[None, :] < n), s, -1.0e6)
        m_new = tl.maximum(m, tl.max(s, axis=1))
        alpha = tl.exp(m - m_new)
        p = tl.exp(s - m_new[:, None])
        l = l * alpha + tl.sum(p, axis=1)
        v = tl.load(V + k_base + cols[:, None] * D + d[None, :], mask=cols[:, None] < n, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m = m_new
    tl.store(Out + q_base + rows[:, None] * D + d[None, :], acc / l[:, None], mask=rows[:, None] < n)


def gqa(q, k, v):
    o = torch.empty_like(q)
    b, hq, n, d = q.shape
    grid = (triton.cdiv(n, 16), hq, b)
    gqa_kernel[grid](q, k, v, o, 1.0 / d**0.5, hq, k.shape[1], n, D=d, BM=16, BN=16)
    return o


def gqa_reference(q, k, v):
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@triton.jit
def window_kernel(Q, K, V, Out, scale, n, window, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Row `i` attends to the columns from `i - window + 1` to `i`."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    base = tl.program_id(1) * n * D
    d = tl.arange(0, D)
    q = tl.load(Q + base + rows[:, None] * D + d[None, :], mask=rows[:, None] < n, other=0.0)
    m = tl.full([BM], -float("inf"), tl.float32)
    l = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in range(0, n, BN):
        cols = start + tl.arange(0, BN)
        k = tl.load(K + base + cols[None, :] * D + d[:, None], mask=cols[None, :] < n, other=0.0)
        v = tl.load(V + base + cols[:, None] * D + d[None, :], mask=cols[:, None] < n, other=0.0)
        s = tl.dot(q, k) * scale
        distance = rows[:, None] - cols[None, :]
        s = tl.where((distance >= 0) & (distance < window), s, -1.0e6)
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])
        alpha = tl.exp(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v)
        m = m_new
    tl.store(Out + base + rows[:, None] * D + d[None, :], acc / l[:, None], mask=rows[:, None] < n)


def window_attention(q, k, v, window):
    o = torch.empty_like(q)
    heads, n, d = q.shape
    window_kernel[(triton.cdiv(n, 16), heads)](q, k, v, o, d**-0.5, n, window, D=d, BM=16, BN=16)
    return o


def window_reference(q, k, v, window):
    i = torch.arange(q.shape[1])
    distance = i[:, None] - i
    keep = (distance >= 0) & (distance < window)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)


@triton.jit
def decode_kernel(
    q_ptr, k_ptr, v_ptr, len_ptr, out_ptr, scale, max_len, D: tl.constexpr, BLOCK: tl.constexpr
):
    """One query for each sequence, over a cache with a length for each."""
    b = tl.program_id(0)
    d = tl.arange(0, D)
    length = tl.load(len_ptr + b)
    q = tl.load(q_ptr + b * D + d)
    m = -float("inf")
    l = 0.0
    acc = tl.zeros([D], tl.float32)
    for start in range(0, length, BLOCK):
        t = start + tl.arange(0, BLOCK)
        inside = t < length
        where = (b * max_len + t)[:, None] * D + d[None, :]
        k = tl.load(k_ptr + where, mask=inside[:, None], other=0.0)
        v = tl.load(v_ptr + where, mask=inside[:, None], other=0.0)
        s = tl.sum(q[None, :] * k, axis=1) * scale
        s = tl.where(inside, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=0))
        p = tl.exp(s - m_new)
        alpha = tl.exp(m - m_new)
        l = l * alpha + tl.sum(p, axis=0)
        acc = acc * alpha + tl.sum(p[:, None] * v, axis=0)
        m = m_new
    tl.store(out_ptr + b * D + d, acc / l)


def decode(q, k, v, lengths):
    out = torch.empty_like(q)
    batch, d = q.shape
    decode_kernel[(batch,)](q, k, v, lengths, out, d**-0.5, k.shape[1], D=d, BLOCK=8)
    return out


def decode_reference(q, k, v, lengths):
    s = (k @ q[..., None])[..., 0] * q.shape[-1] ** -0.5
    s = s.masked_fill(torch.arange(k.shape[1]) >= lengths[:, None], -float("inf"))
    return (torch.softmax(s, -1)[:, None] @ v)[:, 0]


@triton.jit
def alibi_kernel(Q, K, V, slopes, Out, scale, n, D: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    h = tl.program_id(1)
    d = tl.arange(0, D)
    j = tl.arange(0, BLOCK)
    base = h * n * D
    q = tl.load(Q + base + i * D + d)
    k = tl.load(K + base + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
    v = tl.load(V + base + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
    s = tl.sum(q[None, :] * k, axis=1) * scale - tl.load(slopes + h) * (i - j)
    s = tl.where(j <= i, s, -float("inf"))
    p = tl.exp(s - tl.max(s, axis=0))
    o = tl.sum(p[:, None] * v, axis=0) / tl.sum(p, axis=0)
    tl.store(Out + base + i * D + d, o)


def alibi_attention(q, k, v, slopes):
    o = torch.empty_like(q)
    heads, n, d = q.shape
    alibi_kernel[(n, heads)](q, k, v, slopes, o, d**-0.5, n, D=d, BLOCK=triton.next_power_of_2(n))
    return o


def alibi_reference(q, k, v, slopes):
    i = torch.arange(q.shape[1])
    s = q @ k.mT * q.shape[-1] ** -0.5 - slopes[:, None, None] * (i[:, None] - i)
    return torch.softmax(s.masked_fill(i > i[:, None], -float("inf")), -1) @ v


@triton.jit
def scores_kernel(Q, K, S, scale, cap, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Scores with a soft cap, as Gemma has them."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    q = tl.load(Q + rows[:, None] * D + d[None, :], mask=rows[:, None] < n, other=0.0)
    k = tl.load(K + cols[None, :] * D + d[:, None], mask=cols[None, :] < n, other=0.0)
    s = tl.dot(q, k) * scale
    s = cap * (2.0 * tl.sigmoid(2.0 * s / cap) - 1.0)
    tl.store(S + rows[:, None] * n + cols[None, :], s, mask=(rows[:, None] < n) & (cols[None, :] < n))


def capped_scores(q, k, cap):
    n, d = q.shape
    s = torch.empty((n, n), device=q.device, dtype=q.dtype)
    scores_kernel[(triton.cdiv(n, 16), triton.cdiv(n, 16))](q, k, s, d**-0.5, cap, n, D=d, BM=16, BN=16)
    return s


@triton.jit
def merge_kernel(o1, l1, o2, l2, out, lse, D: tl.constexpr):
    """Merges two partial results of attention by their log-sum-exp."""
    row = tl.program_id(0)
    d = tl.arange(0, D)
    a = tl.load(l1 + row)
    b = tl.load(l2 + row)
    m = tl.maximum(a, b)
    wa = tl.exp(a - m)
    wb = tl.exp(b - m)
    x = tl.load(o1 + row * D + d) * wa + tl.load(o2 + row * D + d) * wb
    tl.store(out + row * D + d, x / (wa + wb))
    tl.store(lse + row, m + tl.log(wa + wb))


def merge(o1, l1, o2, l2):
    out, lse = torch.empty_like(o1), torch.empty_like(l1)
    merge_kernel[(o1.shape[0],)](o1, l1, o2, l2, out, lse, D=o1.shape[1])
    return out, lse


def merge_reference(o1, l1, o2, l2):
    lse = torch.logaddexp(l1, l2)
    return o1 * (l1 - lse).exp()[:, None] + o2 * (l2 - lse).exp()[:, None], lse


@triton.jit
def attention_delta_kernel(o_ptr, do_ptr, delta_ptr, n, BM: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    mask = rows[:, None] < n
    o = tl.load(o_ptr + rows[:, None] * D + d[None, :], mask=mask, other=0.0).to(tl.float32)
    do = tl.load(do_ptr + rows[:, None] * D + d[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(o * do, axis=1), mask=rows < n)


def attention_delta(o, do):
    n, d = o.shape
    delta = torch.empty(n, dtype=torch.float32, device=o.device)
    attention_delta_kernel[(triton.cdiv(n, 8),)](o, do, delta, n, BM=8, D=d)
    return delta


def qkv(make):
    half = torch.float16
    return [
        [make(1, 2, 21, 16) for _ in range(3)],
        [make(1, 1, 32, 16) for _ in range(3)],
        [make(1, 1, 18, 16, dtype=half) for _ in range(3)],
    ]


CASES = [
    Case("attention_full", attention_full, F.scaled_dot_product_attention, qkv, data=FINITE),
    Case(
        "attention_causal",
        attention_causal,
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        qkv,
        data=FINITE,
    ),
    Case(
        "gqa",
        gqa,
        gqa_reference,
        lambda make: [[make(1, 4, 21, 16), make(1, 2, 21, 16), make(1, 2, 21, 16)]],
        data=FINITE,
    ),
    Case(
        "window_attention",
        window_attention,
        window_reference,
        lambda make: [[make(2, 21, 16), make(2, 21, 16), make(2, 21, 16), 5]],
        data=FINITE,
    ),
    Case(
        "decode",
        decode,
        decode_reference,
        lambda make: [
            [make(3, 16), make(3, 21, 16), make(3, 21, 16), torch.tensor([1, 13, 21], dtype=torch.int32)]
        ],
        data=FINITE,
    ),
    Case(
        "alibi_attention",
        alibi_attention,
        alibi_reference,
        lambda make: [[make(2, 13, 16), make(2, 13, 16), make(2, 13, 16), torch.tensor([0.5, 0.25])]],
        data=FINITE,
    ),
    Case(
        "capped_scores",
        capped_scores,
        lambda q, k, cap: cap * torch.tanh(q @ k.t() * q.shape[1] ** -0.5 / cap),
        lambda make: [[make(19, 16, scale=3.0), make(19, 16), 4.0]],
    ),
    Case(
        "merge",
        merge,
        merge_reference,
        lambda make: [[make(5, 16), make(5), make(5, 16), make(5)]],
        data=FINITE,
    ),
    Case(
        "attention_delta",
        attention_delta,
        lambda o, do: (o * do).sum(-1),
        lambda make: [[make(13, 16), make(13, 16)]],
    ),
]
