"""State spaces, linear attention, and recurrent cells."""

import torch
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def selective_scan_kernel(
    u_ptr, delta_ptr, a_ptr, b_ptr, c_ptr, d_ptr, y_ptr, length, width, N: tl.constexpr, BLOCK: tl.constexpr
):
    """Mamba: `h = exp(delta a) h + delta b u` and `y = c h + d u`, for channels in blocks."""
    channel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.arange(0, N)
    mask = channel < width
    a = tl.load(a_ptr + channel[:, None] * N + n[None, :], mask=mask[:, None], other=0.0)
    skip = tl.load(d_ptr + channel, mask=mask, other=0.0)
    h = tl.zeros([BLOCK, N], tl.float32)
    for t in range(length):
        u = tl.load(u_ptr + t * width + channel, mask=mask, other=0.0)
        delta = tl.load(delta_ptr + t * width + channel, mask=mask, other=0.0)
        b = tl.load(b_ptr + t * N + n)
        c = tl.load(c_ptr + t * N + n)
        h = tl.exp(delta[:, None] * a) * h + (delta * u)[:, None] * b[None, :]
        y = tl.sum(h * c[None, :], axis=1) + skip * u
        tl.store(y_ptr + t * width + channel, y, mask=mask)


def selective_scan(u, delta, a, b, c, d):
    y = torch.empty_like(u)
    length, width = u.shape
    selective_scan_kernel[(triton.cdiv(width, 4),)](
        u, delta, a, b, c, d, y, length, width, N=a.shape[1], BLOCK=4
    )
    return y


def selective_scan_reference(u, delta, a, b, c, d):
    h, ys = torch.zeros_like(a), []
    for t in range(u.shape[0]):
        h = torch.exp(delta[t][:, None] * a) * h + (delta[t] * u[t])[:, None] * b[t]
        ys.append((h * c[t]).sum(-1) + d * u[t])
    return torch.stack(ys)


@triton.jit
def linear_attention_kernel(q_ptr, k_ptr, v_ptr, o_ptr, length, D: tl.constexpr, CHUNK: tl.constexpr):
    """Causal linear attention: a state for the chunks before, a masked product inside of a chunk."""
    base = tl.program_id(0) * length * D
    d = tl.arange(0, D)
    i = tl.arange(0, CHUNK)
    state = tl.zeros([D, D], tl.float32)
    for start in range(0, length, CHUNK):
        t = start + i
        at = base + t[:, None] * D + d[None, :]
        mask = t[:, None] < length
        q = tl.load(q_ptr + at, mask=mask, other=0.0)
        k = tl.load(k_ptr + at, mask=mask, other=0.0)
        v = tl.load(v_ptr + at, mask=mask, other=0.0)
        s = tl.dot(q, tl.trans(k))
        s = tl.where(i[:, None] >= i[None, :], s, 0.0)
        o = tl.dot(s, v) + tl.dot(q, state)
        state += tl.dot(tl.trans(k), v)
        tl.store(o_ptr + at, o, mask=mask)


def linear_attention(q, k, v):
    o = torch.empty_like(q)
    heads, length, d = q.shape
    linear_attention_kernel[(heads,)](q, k, v, o, length, D=d, CHUNK=16)
    return o


@triton.jit
def retention_kernel(q_ptr, k_ptr, v_ptr, o_ptr, decay, length, D: tl.constexpr, BLOCK: tl.constexpr):
    t = tl.program_id(0)
    base = tl.program_id(1) * length * D
    d = tl.arange(0, D)
    s = tl.arange(0, BLOCK)
    past = s <= t
    q = tl.load(q_ptr + base + t * D + d)
    k = tl.load(k_ptr + base + s[:, None] * D + d[None, :], mask=past[:, None], other=0.0)
    v = tl.load(v_ptr + base + s[:, None] * D + d[None, :], mask=past[:, None], other=0.0)
    weight = tl.exp2((t - s).to(tl.float32) * tl.log2(decay))
    score = tl.where(past, tl.sum(q[None, :] * k, axis=1) * weight, 0.0)
    tl.store(o_ptr + base + t * D + d, tl.sum(score[:, None] * v, axis=0))


def retention(q, k, v, decay):
    o = torch.empty_like(q)
    heads, length, d = q.shape
    retention_kernel[(length, heads)](q, k, v, o, decay, length, D=d, BLOCK=triton.next_power_of_2(length))
    return o


def retention_reference(q, k, v, decay):
    i = torch.arange(q.shape[1])
    gap = i[:, None] - i
    weight = torch.where(gap >= 0, torch.tensor(decay, dtype=q.dtype) ** gap.clamp(min=0), 0.0)
    return (q @ k.mT * weight) @ v


@triton.jit
def delta_rule_kernel(q_ptr, k_ptr, v_ptr, beta_ptr, o_ptr, length, D: tl.constexpr):
    """`S = S + beta k (v - k S)`, then `o = q S`."""
    i = tl.arange(0, D)
    state = tl.zeros([D, D], tl.float32)
    for t in range(length):
        q = tl.load(q_ptr + t * D + i)
        k = tl.load(k_ptr + t * D + i)
        v = tl.load(v_ptr + t * D + i)
        beta = tl.load(beta_ptr + t)
        guess = tl.sum(k[:, None] * state, axis=0)
        state += beta * k[:, None] * (v - guess)[None, :]
        tl.store(o_ptr + t * D + i, tl.sum(q[:, None] * state, axis=0))


def delta_rule(q, k, v, beta):
    o = torch.empty_like(q)
    length, d = q.shape
    delta_rule_kernel[(1,)](q, k, v, beta, o, length, D=d)
    return o


def delta_rule_reference(q, k, v, beta):
    state, out = q.new_zeros(q.shape[1], q.shape[1]), []
    for t in range(q.shape[0]):
        state = state + beta[t] * torch.outer(k[t], v[t] - k[t] @ state)
        out.append(q[t] @ state)
    return torch.stack(out)


@triton.jit
def lstm_cell_kernel(gates_ptr, c_ptr, h_out_ptr, c_out_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    mask = j < width
    base = gates_ptr + row * 4 * width + j
    i = tl.sigmoid(tl.load(base, mask=mask, other=0.0))
    f = tl.sigmoid(tl.load(base + width, mask=mask, other=0.0))
    g = 2.0 * tl.sigmoid(2.0 * tl.load(base + 2 * width, mask=mask, other=0.0)) - 1.0
    o = tl.sigmoid(tl.load(base + 3 * width, mask=mask, other=0.0))
    c = f * tl.load(c_ptr + row * width + j, mask=mask, other=0.0) + i * g
    tl.store(c_out_ptr + row * width + j, c, mask=mask)
    tl.store(h_out_ptr + row * width + j, o * (2.0 * tl.sigmoid(2.0 * c) - 1.0), mask=mask)


def lstm_cell(gates, c):
    h_out, c_out = torch.empty_like(c), torch.empty_like(c)
    rows, width = c.shape
    lstm_cell_kernel[(rows,)](gates, c, h_out, c_out, width, BLOCK=triton.next_power_of_2(width))
    return h_out, c_out


def lstm_cell_reference(gates, c):
    i, f, g, o = gates.chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


@triton.jit
def gru_cell_kernel(x_ptr, h_ptr, state_ptr, out_ptr, width, BLOCK: tl.constexpr):
    """`x` and `h` are the gates (reset, update, new) of the input and of the state."""
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    mask = j < width
    at = row * 3 * width + j
    r = tl.sigmoid(tl.load(x_ptr + at, mask=mask, other=0.0) + tl.load(h_ptr + at, mask=mask, other=0.0))
    at += width
    z = tl.sigmoid(tl.load(x_ptr + at, mask=mask, other=0.0) + tl.load(h_ptr + at, mask=mask, other=0.0))
    at += width
    new = tl.load(x_ptr + at, mask=mask, other=0.0) + r * tl.load(h_ptr + at, mask=mask, other=0.0)
    new = 2.0 * tl.sigmoid(2.0 * new) - 1.0
    state = tl.load(state_ptr + row * width + j, mask=mask, other=0.0)
    tl.store(out_ptr + row * width + j, (1.0 - z) * new + z * state, mask=mask)


def gru_cell(x, h, state):
    out = torch.empty_like(state)
    rows, width = state.shape
    gru_cell_kernel[(rows,)](x, h, state, out, width, BLOCK=triton.next_power_of_2(width))
    return out


def gru_cell_reference(x, h, state):
    (rx, zx, nx), (rh, zh, nh) = x.chunk(3, 1), h.chunk(3, 1)
    z = torch.sigmoid(zx + zh)
    return (1 - z) * torch.tanh(nx + torch.sigmoid(rx + rh) * nh) + z * state


CASES = [
    Case(
        "selective_scan",
        selective_scan,
        selective_scan_reference,
        lambda make: [[make(7, 6), make.uniform(7, 6), -make.uniform(6, 4), make(7, 4), make(7, 4), make(6)]],
        data="given",
    ),
    Case(
        "linear_attention",
        linear_attention,
        lambda q, k, v: (q @ k.mT).tril() @ v,
        lambda make: [[make(2, 37, 16), make(2, 37, 16), make(2, 37, 16)]],
        data=FINITE,
    ),
    Case(
        "retention",
        retention,
        retention_reference,
        lambda make: [[make(2, 13, 16), make(2, 13, 16), make(2, 13, 16), 0.9]],
        data=FINITE,
    ),
    Case(
        "delta_rule",
        delta_rule,
        delta_rule_reference,
        lambda make: [[make(5, 16), make(5, 16, scale=0.25), make(5, 16), make.uniform(5)]],
        data="given",
    ),
    Case("lstm_cell", lstm_cell, lstm_cell_reference, lambda make: [[make(3, 52), make(3, 13)]]),
    Case("gru_cell", gru_cell, gru_cell_reference, lambda make: [[make(3, 39), make(3, 39), make(3, 13)]]),
]
