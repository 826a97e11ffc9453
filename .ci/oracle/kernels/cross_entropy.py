"""Cross entropy of rows of logits."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def cross_entropy_kernel(logits_ptr, target_ptr, loss_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(logits_ptr + row * n_cols + cols, mask=mask, other=-float("inf")).to(tl.float32)
    target = tl.load(target_ptr + row)
    m = tl.max(x, axis=0)
    lse = m + tl.log(tl.sum(tl.exp(x - m), axis=0))
    picked = tl.load(logits_ptr + row * n_cols + target).to(tl.float32)
    tl.store(loss_ptr + row, lse - picked)


def cross_entropy(logits, target):
    rows, cols = logits.shape
    loss = torch.empty(rows, dtype=torch.float32, device=logits.device)
    cross_entropy_kernel[(rows,)](logits, target, loss, cols, BLOCK=triton.next_power_of_2(cols))
    return loss


@triton.jit
def cross_entropy_online_kernel(
    X_ptr, Y_ptr, loss_ptr, n_cols, ignore_index, label_smoothing, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    X_ptr += row * n_cols
    y = tl.load(Y_ptr + row)
    if y == ignore_index:
        tl.store(loss_ptr + row, 0.0)
        return
    m = float("-inf")
    d = 0.0
    scaled_sum = 0.0
    eps = label_smoothing / n_cols
    picked = tl.load(X_ptr + y).to(tl.float32)
    for i in range(0, n_cols, BLOCK):
        cols = i + tl.arange(0, BLOCK)
        block = tl.load(X_ptr + cols, mask=cols < n_cols, other=float("-inf")).to(tl.float32)
        block_max = tl.max(block)
        scaled_sum += tl.sum(tl.where(cols < n_cols, -eps * block, 0.0))
        m_new = tl.maximum(m, block_max)
        d = d * tl.exp(m - m_new) + tl.sum(tl.exp(block - m_new))
        m = m_new
    lse = m + tl.log(d)
    loss = lse - picked
    smooth = scaled_sum + label_smoothing * lse
    tl.store(loss_ptr + row, loss * (1 - label_smoothing) + smooth)


def cross_entropy_online(logits, target, label_smoothing):
    rows, cols = logits.shape
    loss = torch.empty(rows, dtype=torch.float32, device=logits.device)
    cross_entropy_online_kernel[(rows,)](logits, target, loss, cols, -100, label_smoothing, BLOCK=16)
    return loss


@triton.jit
def cross_entropy_backward_kernel(dloss_ptr, logits_ptr, target_ptr, dx_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(logits_ptr + row * n_cols + cols, mask=mask, other=-float("inf"))
    target = tl.load(target_ptr + row)
    dloss = tl.load(dloss_ptr + row)
    e = tl.exp(x - tl.max(x, axis=0))
    p = e / tl.sum(e, axis=0)
    grad = tl.where(cols == target, p - 1.0, p)
    tl.store(dx_ptr + row * n_cols + cols, grad * dloss, mask=mask)


def cross_entropy_backward(dloss, logits, target):
    dx = torch.empty_like(logits)
    rows, cols = logits.shape
    cross_entropy_backward_kernel[(rows,)](
        dloss, logits, target, dx, cols, BLOCK=triton.next_power_of_2(cols)
    )
    return dx


def cross_entropy_backward_reference(dloss, logits, target):
    hot = F.one_hot(target.long(), logits.shape[-1])
    return (torch.softmax(logits, -1) - hot) * dloss[:, None]


@triton.jit
def z_loss_kernel(logits_ptr, loss_ptr, weight, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(logits_ptr + row * n_cols + cols, mask=cols < n_cols, other=-float("inf"))
    m = tl.max(x, axis=0)
    lse = tl.log(tl.sum(tl.exp(x - m), axis=0)) + m
    tl.store(loss_ptr + row, weight * lse * lse)


def z_loss(logits, weight):
    rows, cols = logits.shape
    loss = torch.empty(rows, dtype=torch.float32, device=logits.device)
    z_loss_kernel[(rows,)](logits, loss, weight, cols, BLOCK=triton.next_power_of_2(cols))
    return loss


@triton.jit
def nll_kernel(logp_ptr, target_ptr, weight_ptr, out_ptr, n_rows, n_cols, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = rows < n_rows
    target = tl.load(target_ptr + rows, mask=mask, other=0)
    logp = tl.load(logp_ptr + rows * n_cols + target, mask=mask)
    weight = tl.load(weight_ptr + target, mask=mask)
    tl.store(out_ptr + rows, -logp * weight, mask=mask)


def nll(logp, target, weight):
    rows, cols = logp.shape
    out = torch.empty(rows, dtype=logp.dtype, device=logp.device)
    nll_kernel[(triton.cdiv(rows, 4),)](logp, target, weight, out, rows, cols, BLOCK=4)
    return out


@triton.jit
def sequence_logprob_kernel(logits_ptr, token_ptr, out_ptr, length, vocab, BLOCK: tl.constexpr):
    """Sums the log probabilities of the tokens of one sequence."""
    batch = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    total = 0.0
    for t in range(length):
        row = batch * length + t
        x = tl.load(logits_ptr + row * vocab + cols, mask=cols < vocab, other=-float("inf"))
        token = tl.load(token_ptr + row)
        m = tl.max(x, axis=0)
        lse = m + tl.log(tl.sum(tl.exp(x - m), axis=0))
        total += tl.load(logits_ptr + row * vocab + token) - lse
    tl.store(out_ptr + batch, total)


def sequence_logprob(logits, tokens):
    batch, length, vocab = logits.shape
    out = torch.empty(batch, dtype=logits.dtype, device=logits.device)
    sequence_logprob_kernel[(batch,)](logits, tokens, out, length, vocab, BLOCK=triton.next_power_of_2(vocab))
    return out


CASES = [
    Case(
        "cross_entropy",
        cross_entropy,
        lambda x, t: F.cross_entropy(x, t.long(), reduction="none"),
        lambda make: [
            [make(5, 29), make.ints(5, high=29)],
            [make(4, 64, dtype=torch.float16), make.ints(4, high=64)],
        ],
    ),
    Case(
        "cross_entropy_online",
        cross_entropy_online,
        lambda x, t, s: F.cross_entropy(x, t.long(), reduction="none", label_smoothing=s),
        lambda make: [
            [make(5, 29), torch.tensor([0, 28, -100, 3, 7]), 0.1],
            [make(3, 32), make.ints(3, high=32), 0.0],
        ],
        data=FINITE,
    ),
    Case(
        "cross_entropy_backward",
        cross_entropy_backward,
        cross_entropy_backward_reference,
        lambda make: [[make(5), make(5, 29), make.ints(5, high=29)]],
        data=FINITE,
    ),
    Case(
        "z_loss",
        z_loss,
        lambda x, w: w * torch.logsumexp(x, -1) ** 2,
        lambda make: [[make(5, 29), 0.01]],
        data=FINITE,
    ),
    Case(
        "nll",
        nll,
        lambda p, t, w: F.nll_loss(p, t.long(), w, reduction="none"),
        lambda make: [[torch.log_softmax(make(7, 13), -1), make.ints(7, high=13), make.uniform(13)]],
        data="given",
    ),
    Case(
        "sequence_logprob",
        sequence_logprob,
        lambda x, t: torch.log_softmax(x, -1).gather(-1, t.long()[..., None])[..., 0].sum(-1),
        lambda make: [[make(2, 5, 19), make.ints(2, 5, high=19)]],
    ),
]
