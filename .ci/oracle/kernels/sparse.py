"""Sparse products, mixtures of experts, and paged caches."""

import torch
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def csr_matvec_kernel(start_ptr, col_ptr, value_ptr, x_ptr, y_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    start = tl.load(start_ptr + row)
    end = tl.load(start_ptr + row + 1)
    acc = tl.zeros([BLOCK], tl.float32)
    for first in range(start, end, BLOCK):
        i = first + tl.arange(0, BLOCK)
        mask = i < end
        value = tl.load(value_ptr + i, mask=mask, other=0.0)
        x = tl.load(x_ptr + tl.load(col_ptr + i, mask=mask, other=0), mask=mask, other=0.0)
        acc += value * x
    tl.store(y_ptr + row, tl.sum(acc, axis=0))


def csr_matvec(starts, columns, values, x):
    rows = starts.numel() - 1
    y = torch.empty(rows, dtype=values.dtype, device=values.device)
    csr_matvec_kernel[(rows,)](starts, columns, values, x, y, BLOCK=4)
    return y


def csr_matvec_reference(starts, columns, values, x):
    s = starts.tolist()
    return torch.stack([(values[a:b] * x[columns[a:b].long()]).sum() for a, b in zip(s, s[1:])])


@triton.jit
def block_sparse_kernel(a_ptr, b_ptr, c_ptr, layout_ptr, M, N, K, BLOCK: tl.constexpr, BN: tl.constexpr):
    """A product that skips the blocks of `a` for which the layout has a zero."""
    pid_m = tl.program_id(0)
    rm = pid_m * BLOCK + tl.arange(0, BLOCK)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BLOCK, BN), tl.float32)
    for kb in range(K // BLOCK):
        if tl.load(layout_ptr + pid_m * (K // BLOCK) + kb) != 0:
            rk = kb * BLOCK + tl.arange(0, BLOCK)
            a = tl.load(a_ptr + rm[:, None] * K + rk[None, :])
            b = tl.load(b_ptr + rk[:, None] * N + rn[None, :], mask=rn[None, :] < N, other=0.0)
            acc += tl.dot(a, b)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=rn[None, :] < N)


def block_sparse(a, b, layout):
    m, k = a.shape
    n = b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    block_sparse_kernel[(m // 16, triton.cdiv(n, 16))](a, b, c, layout, m, n, k, BLOCK=16, BN=16)
    return c


def block_sparse_reference(a, b, layout):
    keep = layout.repeat_interleave(16, 0).repeat_interleave(16, 1)
    return torch.where(keep != 0, a, 0.0) @ b


@triton.jit
def router_kernel(logits_ptr, weight_ptr, expert_ptr, n, K: tl.constexpr, BLOCK: tl.constexpr):
    """The `K` likeliest experts of a token, with weights that sum to one."""
    token = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(logits_ptr + token * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    p = e / tl.sum(e, axis=0)
    total = 0.0
    left = p
    for i in tl.static_range(K):
        total += tl.max(left, axis=0)
        left = tl.where(cols == tl.argmax(left, axis=0), -1.0, left)
    left = p
    for i in tl.static_range(K):
        best = tl.argmax(left, axis=0)
        tl.store(weight_ptr + token * K + i, tl.max(left, axis=0) / total)
        tl.store(expert_ptr + token * K + i, best)
        left = tl.where(cols == best, -1.0, left)


def router(logits):
    tokens, n = logits.shape
    weight = torch.empty((tokens, 2), dtype=torch.float32, device=logits.device)
    expert = torch.empty((tokens, 2), dtype=torch.int32, device=logits.device)
    router_kernel[(tokens,)](logits, weight, expert, n, K=2, BLOCK=triton.next_power_of_2(n))
    return weight, expert


def router_reference(logits):
    p, expert = torch.softmax(logits, -1).topk(2)
    return p / p.sum(-1, keepdim=True), expert


@triton.jit
def expert_linear_kernel(x_ptr, w_ptr, expert_ptr, y_ptr, N, K, BN: tl.constexpr, BK: tl.constexpr):
    token = tl.program_id(0)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    expert = tl.load(expert_ptr + token)
    acc = tl.zeros([BN], tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(x_ptr + token * K + rk, mask=rk < K, other=0.0)
        w = tl.load(
            w_ptr + (expert * N + rn[:, None]) * K + rk[None, :],
            mask=(rn[:, None] < N) & (rk[None, :] < K),
            other=0.0,
        )
        acc += tl.sum(w * x[None, :], axis=1)
    tl.store(y_ptr + token * N + rn, acc, mask=rn < N)


def expert_linear(x, w, expert):
    tokens, k = x.shape
    n = w.shape[1]
    y = torch.empty((tokens, n), dtype=x.dtype, device=x.device)
    expert_linear_kernel[(tokens, triton.cdiv(n, 8))](x, w, expert, y, n, k, BN=8, BK=8)
    return y


@triton.jit
def combine_experts_kernel(y_ptr, weight_ptr, out_ptr, width, K: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < width
    acc = tl.zeros([BLOCK], tl.float32)
    for k in range(K):
        y = tl.load(y_ptr + (token * K + k) * width + cols, mask=mask, other=0.0)
        acc += tl.load(weight_ptr + token * K + k) * y
    tl.store(out_ptr + token * width + cols, acc, mask=mask)


def combine_experts(y, weight):
    tokens, k, width = y.shape
    out = torch.empty((tokens, width), dtype=y.dtype, device=y.device)
    combine_experts_kernel[(tokens,)](y, weight, out, width, K=k, BLOCK=triton.next_power_of_2(width))
    return out


@triton.jit
def cache_write_kernel(k_ptr, slot_ptr, cache_ptr, page, WIDTH: tl.constexpr):
    token = tl.program_id(0)
    slot = tl.load(slot_ptr + token)
    d = tl.arange(0, WIDTH)
    x = tl.load(k_ptr + token * WIDTH + d)
    tl.store(cache_ptr + (slot // page * page + slot % page) * WIDTH + d, x)


def cache_write(k, slots, cache):
    cache_write_kernel[(k.shape[0],)](k, slots, cache, cache.shape[1], WIDTH=k.shape[1])
    return cache


def cache_write_reference(k, slots, cache):
    flat = cache.flatten(0, 1).clone()
    flat[slots.long()] = k
    return flat.view(cache.shape)


@triton.jit
def paged_attention_kernel(
    q_ptr, k_ptr, v_ptr, table_ptr, len_ptr, out_ptr, scale, pages, PAGE: tl.constexpr, D: tl.constexpr
):
    b = tl.program_id(0)
    d = tl.arange(0, D)
    t = tl.arange(0, PAGE)
    length = tl.load(len_ptr + b)
    q = tl.load(q_ptr + b * D + d)
    m = -1.0e30
    l = 0.0
    acc = tl.zeros([D], tl.float32)
    for i in range(tl.cdiv(length, PAGE)):
        page = tl.load(table_ptr + b * pages + i)
        at = (page * PAGE + t[:, None]) * D + d[None, :]
        inside = i * PAGE + t < length
        k = tl.load(k_ptr + at, mask=inside[:, None], other=0.0)
        s = tl.where(inside, tl.sum(q[None, :] * k, axis=1) * scale, -1.0e30)
        m_new = tl.maximum(m, tl.max(s, axis=0))
        p = tl.exp(s - m_new)
        alpha = tl.exp(m - m_new)
        v = tl.load(v_ptr + at, mask=inside[:, None], other=0.0)
        acc = acc * alpha + tl.sum(p[:, None] * v, axis=0)
        l = l * alpha + tl.sum(p, axis=0)
        m = m_new
    tl.store(out_ptr + b * D + d, acc / l)


def paged_attention(q, k_cache, v_cache, table, lengths):
    out = torch.empty_like(q)
    batch, d = q.shape
    paged_attention_kernel[(batch,)](
        q, k_cache, v_cache, table, lengths, out, d**-0.5, table.shape[1], PAGE=k_cache.shape[1], D=d
    )
    return out


def paged_attention_reference(q, k_cache, v_cache, table, lengths):
    out = []
    for b, n in enumerate(lengths.tolist()):
        k, v = k_cache[table[b].long()].flatten(0, 1)[:n], v_cache[table[b].long()].flatten(0, 1)[:n]
        out.append(torch.softmax(k @ q[b] * q.shape[1] ** -0.5, 0) @ v)
    return torch.stack(out)


CASES = [
    Case(
        "csr_matvec",
        csr_matvec,
        csr_matvec_reference,
        lambda make: [
            [torch.tensor([0, 2, 2, 9, 11], dtype=torch.int32), make.ints(11, high=7), make(11), make(7)]
        ],
        data=FINITE,
    ),
    Case(
        "block_sparse",
        block_sparse,
        block_sparse_reference,
        lambda make: [[make(32, 48), make(48, 20), torch.tensor([[1, 0, 1], [0, 1, 1]], dtype=torch.int32)]],
        data=FINITE,
    ),
    Case("router", router, router_reference, lambda make: [[make(5, 13)]], data="given"),
    Case(
        "expert_linear",
        expert_linear,
        lambda x, w, e: torch.einsum("tk,tnk->tn", x, w[e.long()]),
        lambda make: [[make(5, 21), make(3, 11, 21), make.ints(5, high=3)]],
    ),
    Case(
        "combine_experts",
        combine_experts,
        lambda y, w: (y * w[..., None]).sum(1),
        lambda make: [[make(5, 2, 13), make.uniform(5, 2)]],
    ),
    Case(
        "cache_write",
        cache_write,
        cache_write_reference,
        lambda make: [[make(5, 16), make.permutation(12)[:5].int(), make(3, 4, 16)]],
    ),
    Case(
        "paged_attention",
        paged_attention,
        paged_attention_reference,
        lambda make: [
            [
                make(2, 16),
                make(6, 4, 16),
                make(6, 4, 16),
                torch.tensor([[5, 0, 3], [2, 4, 1]], dtype=torch.int32),
                torch.tensor([9, 4], dtype=torch.int32),
            ]
        ],
        data=FINITE,
    ),
]
