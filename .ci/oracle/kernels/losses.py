"""Losses of pairs of tensors."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def mse_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n
        x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
        y = tl.load(y_ptr + offs, mask=mask, other=0.0).to(tl.float32)
        diff = x - y
        acc += diff * diff
    tl.store(out_ptr, tl.sum(acc, axis=0) / n)


def mse(x, y):
    out = torch.empty((), dtype=torch.float32, device=x.device)
    mse_kernel[(1,)](x, y, out, x.numel(), BLOCK=32)
    return out


@triton.jit
def l1_atomic_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    y = tl.load(y_ptr + offs, mask=mask, other=0.0)
    tl.atomic_add(out_ptr, tl.sum(tl.abs(x - y), axis=0) / n)


def l1_atomic(x, y):
    out = torch.zeros((), dtype=torch.float32, device=x.device)
    n = x.numel()
    l1_atomic_kernel[(triton.cdiv(n, 32),)](x, y, out, n, BLOCK=32)
    return out


@triton.jit
def huber_kernel(x_ptr, y_ptr, out_ptr, delta, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    d = tl.load(x_ptr + offs, mask=mask) - tl.load(y_ptr + offs, mask=mask)
    a = tl.abs(d)
    loss = tl.where(a <= delta, 0.5 * d * d, delta * (a - 0.5 * delta))
    tl.store(out_ptr + offs, loss, mask=mask)


def huber(x, y, delta):
    out = torch.empty_like(x)
    n = x.numel()
    huber_kernel[(triton.cdiv(n, 32),)](x, y, out, delta, n, BLOCK=32)
    return out


@triton.jit
def smooth_l1_kernel(x_ptr, y_ptr, out_ptr, beta, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.abs(tl.load(x_ptr + offs, mask=mask) - tl.load(y_ptr + offs, mask=mask))
    tl.store(out_ptr + offs, tl.where(a < beta, 0.5 * a * a / beta, a - 0.5 * beta), mask=mask)


def smooth_l1(x, y, beta):
    out = torch.empty_like(x)
    n = x.numel()
    smooth_l1_kernel[(triton.cdiv(n, 32),)](x, y, out, beta, n, BLOCK=32)
    return out


@triton.jit
def bce_kernel(p_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    p = tl.load(p_ptr + offs, mask=mask, other=0.5)
    y = tl.load(y_ptr + offs, mask=mask, other=0.0)
    loss = -(y * tl.log(p) + (1.0 - y) * tl.log(1.0 - p))
    tl.store(out_ptr + offs, loss, mask=mask)


def bce(p, y):
    out = torch.empty_like(p)
    n = p.numel()
    bce_kernel[(triton.cdiv(n, 32),)](p, y, out, n, BLOCK=32)
    return out


@triton.jit
def bce_logits_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    y = tl.load(y_ptr + offs, mask=mask).to(tl.float32)
    loss = tl.maximum(x, 0.0) - x * y + tl.log(1.0 + tl.exp(-tl.abs(x)))
    tl.store(out_ptr + offs, loss, mask=mask)


def bce_logits(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    bce_logits_kernel[(triton.cdiv(n, 32),)](x, y, out, n, BLOCK=32)
    return out


@triton.jit
def kl_div_kernel(logq_ptr, p_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    logq = tl.load(logq_ptr + row * n_cols + cols, mask=mask, other=0.0)
    p = tl.load(p_ptr + row * n_cols + cols, mask=mask, other=1.0)
    terms = tl.where(mask, p * (tl.log(p) - logq), 0.0)
    tl.store(out_ptr + row, tl.sum(terms, axis=0))


def kl_div(logq, p):
    rows, cols = p.shape
    out = torch.empty(rows, dtype=p.dtype, device=p.device)
    kl_div_kernel[(rows,)](logq, p, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out


@triton.jit
def hinge_kernel(x_ptr, y_ptr, out_ptr, margin, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, tl.where(y > 0, x, tl.maximum(margin - x, 0.0)), mask=mask)


def hinge(x, y, margin):
    out = torch.empty_like(x)
    n = x.numel()
    hinge_kernel[(triton.cdiv(n, 32),)](x, y, out, margin, n, BLOCK=32)
    return out


@triton.jit
def triplet_kernel(a_ptr, p_ptr, n_ptr, out_ptr, margin, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < width
    a = tl.load(a_ptr + row * width + cols, mask=mask, other=0.0)
    dp = a - tl.load(p_ptr + row * width + cols, mask=mask, other=0.0)
    dn = a - tl.load(n_ptr + row * width + cols, mask=mask, other=0.0)
    gap = tl.sqrt(tl.sum(dp * dp, axis=0)) - tl.sqrt(tl.sum(dn * dn, axis=0)) + margin
    tl.store(out_ptr + row, tl.maximum(gap, 0.0))


def triplet(a, p, n, margin):
    rows, width = a.shape
    out = torch.empty(rows, dtype=a.dtype, device=a.device)
    triplet_kernel[(rows,)](a, p, n, out, margin, width, BLOCK=triton.next_power_of_2(width))
    return out


@triton.jit
def focal_kernel(x_ptr, y_ptr, out_ptr, alpha, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    p = tl.sigmoid(x)
    ce = tl.maximum(x, 0.0) - x * y + tl.log(1.0 + tl.exp(-tl.abs(x)))
    pt = p * y + (1.0 - p) * (1.0 - y)
    weight = alpha * y + (1.0 - alpha) * (1.0 - y)
    tl.store(out_ptr + offs, weight * (1.0 - pt) * (1.0 - pt) * ce, mask=mask)


def focal(x, y, alpha):
    out = torch.empty_like(x)
    n = x.numel()
    focal_kernel[(triton.cdiv(n, 32),)](x, y, out, alpha, n, BLOCK=32)
    return out


def focal_reference(x, y, alpha):
    p = torch.sigmoid(x)
    ce = F.binary_cross_entropy_with_logits(x, y, reduction="none")
    pt = p * y + (1 - p) * (1 - y)
    return (alpha * y + (1 - alpha) * (1 - y)) * (1 - pt) ** 2 * ce


@triton.jit
def dpo_kernel(
    chosen_ptr, rejected_ptr, ref_chosen_ptr, ref_rejected_ptr, out_ptr, beta, n, BLOCK: tl.constexpr
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    policy = tl.load(chosen_ptr + i, mask=mask) - tl.load(rejected_ptr + i, mask=mask)
    ref = tl.load(ref_chosen_ptr + i, mask=mask) - tl.load(ref_rejected_ptr + i, mask=mask)
    z = beta * (policy - ref)
    loss = tl.log(1.0 + tl.exp(-tl.abs(z))) + tl.maximum(-z, 0.0)
    tl.store(out_ptr + i, loss, mask=mask)


def dpo(chosen, rejected, ref_chosen, ref_rejected, beta):
    out = torch.empty_like(chosen)
    n = out.numel()
    dpo_kernel[(triton.cdiv(n, 16),)](chosen, rejected, ref_chosen, ref_rejected, out, beta, n, BLOCK=16)
    return out


CASES = [
    Case(
        "mse",
        mse,
        F.mse_loss,
        lambda make: [[make(99), make(99)], [make(64, dtype=torch.float16), make(64, dtype=torch.float16)]],
    ),
    Case("l1_atomic", l1_atomic, F.l1_loss, lambda make: [[make(99), make(99)]]),
    Case(
        "huber",
        huber,
        lambda x, y, d: F.huber_loss(x, y, reduction="none", delta=d),
        lambda make: [[make(99), make(99), 0.75]],
        data=FINITE,
    ),
    Case(
        "smooth_l1",
        smooth_l1,
        lambda x, y, b: F.smooth_l1_loss(x, y, reduction="none", beta=b),
        lambda make: [[make(99), make(99), 0.5]],
        data=FINITE,
    ),
    Case(
        "bce",
        bce,
        lambda p, y: F.binary_cross_entropy(p, y, reduction="none"),
        lambda make: [[make.uniform(99, low=0.01, high=0.99), make.uniform(99)]],
        data="given",
    ),
    Case(
        "bce_logits",
        bce_logits,
        lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none"),
        lambda make: [[make(99), make.uniform(99)]],
        data="given",
    ),
    Case(
        "kl_div",
        kl_div,
        lambda q, p: F.kl_div(q, p, reduction="none").sum(-1),
        lambda make: [[torch.log_softmax(make(5, 13), -1), torch.softmax(make(5, 13), -1)]],
        data="given",
    ),
    Case(
        "hinge",
        hinge,
        lambda x, y, m: F.hinge_embedding_loss(x, y, m, reduction="none"),
        lambda make: [[make(99), make.bools(99).float() * 2 - 1, 0.8]],
        data="given",
    ),
    Case(
        "triplet",
        triplet,
        lambda a, p, n, m: ((a - p).norm(dim=-1) - (a - n).norm(dim=-1) + m).clamp(min=0),
        lambda make: [[make(5, 13), make(5, 13), make(5, 13), 1.0]],
        data=FINITE,
    ),
    Case(
        "focal",
        focal,
        focal_reference,
        lambda make: [[make(99), make.bools(99).float(), 0.25]],
        data="given",
    ),
    Case(
        "dpo",
        dpo,
        lambda c, r, rc, rr, b: -F.logsigmoid(b * ((c - r) - (rc - rr))),
        lambda make: [[make(21), make(21), make(21), make(21), 0.1]],
        data=FINITE,
    ),
]
