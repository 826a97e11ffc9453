"""Steps of optimisers, in place."""

import torch
import triton
import triton.language as tl
from case import Case


@triton.jit
def sgd_kernel(p_ptr, g_ptr, lr, weight_decay, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    p = tl.load(p_ptr + offs, mask=mask)
    g = tl.load(g_ptr + offs, mask=mask) + weight_decay * p
    tl.store(p_ptr + offs, p - lr * g, mask=mask)


def sgd(p, g, lr, weight_decay):
    n = p.numel()
    sgd_kernel[(triton.cdiv(n, 32),)](p, g, lr, weight_decay, n, BLOCK=32)


@triton.jit
def momentum_kernel(p_ptr, g_ptr, v_ptr, lr, mu, n, NESTEROV: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    g = tl.load(g_ptr + offs, mask=mask)
    v = mu * tl.load(v_ptr + offs, mask=mask) + g
    step = g + mu * v if NESTEROV else v
    tl.store(v_ptr + offs, v, mask=mask)
    tl.store(p_ptr + offs, tl.load(p_ptr + offs, mask=mask) - lr * step, mask=mask)


def momentum(p, g, v, lr, mu):
    n = p.numel()
    momentum_kernel[(triton.cdiv(n, 32),)](p, g, v, lr, mu, n, NESTEROV=True, BLOCK=32)


def momentum_reference(p, g, v, lr, mu):
    v = mu * v + g
    return p - lr * (g + mu * v), v


@triton.jit
def adam_kernel(p_ptr, g_ptr, m_ptr, v_ptr, lr, beta1, beta2, eps, bias1, bias2, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    p = tl.load(p_ptr + offs, mask=mask)
    g = tl.load(g_ptr + offs, mask=mask)
    m = tl.load(m_ptr + offs, mask=mask)
    v = tl.load(v_ptr + offs, mask=mask, other=0.0)
    m = beta1 * m + (1.0 - beta1) * g
    v = beta2 * v + (1.0 - beta2) * g * g
    m_hat = m / bias1
    v_hat = v / bias2
    tl.store(p_ptr + offs, p - lr * m_hat / (tl.sqrt(v_hat) + eps), mask=mask)
    tl.store(m_ptr + offs, m, mask=mask)
    tl.store(v_ptr + offs, v, mask=mask)


def adam(p, g, m, v, step):
    n = p.numel()
    adam_kernel[(triton.cdiv(n, 32),)](
        p, g, m, v, 0.01, 0.9, 0.999, 1e-3, 1 - 0.9**step, 1 - 0.999**step, n, BLOCK=32
    )


def adam_reference(p, g, m, v, step):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - 0.01 * (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-3), m, v


@triton.jit
def adamw_kernel(p_ptr, g_ptr, m_ptr, v_ptr, lr, beta1, beta2, eps, decay, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    p = tl.load(p_ptr + offs, mask=mask)
    g = tl.load(g_ptr + offs, mask=mask)
    m = tl.load(m_ptr + offs, mask=mask)
    v = tl.load(v_ptr + offs, mask=mask, other=0.0)
    p = p * (1.0 - lr * decay)
    m += (1.0 - beta1) * (g - m)
    v += (1.0 - beta2) * (g * g - v)
    p -= lr * m / (tl.sqrt(v) + eps)
    tl.store(p_ptr + offs, p, mask=mask)
    tl.store(m_ptr + offs, m, mask=mask)
    tl.store(v_ptr + offs, v, mask=mask)


def adamw(p, g, m, v):
    n = p.numel()
    adamw_kernel[(triton.cdiv(n, 32),)](p, g, m, v, 0.02, 0.9, 0.99, 1e-2, 0.1, n, BLOCK=32)


def adamw_reference(p, g, m, v):
    m, v = m + 0.1 * (g - m), v + 0.01 * (g * g - v)
    return p * (1 - 0.02 * 0.1) - 0.02 * m / (v.sqrt() + 1e-2), m, v


@triton.jit
def lion_kernel(p_ptr, g_ptr, m_ptr, lr, beta1, beta2, decay, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    p = tl.load(p_ptr + offs, mask=mask)
    g = tl.load(g_ptr + offs, mask=mask)
    m = tl.load(m_ptr + offs, mask=mask)
    update = beta1 * m + (1.0 - beta1) * g
    sign = tl.where(update > 0, 1.0, tl.where(update < 0, -1.0, 0.0))
    tl.store(p_ptr + offs, p * (1.0 - lr * decay) - lr * sign, mask=mask)
    tl.store(m_ptr + offs, beta2 * m + (1.0 - beta2) * g, mask=mask)


def lion(p, g, m):
    n = p.numel()
    lion_kernel[(triton.cdiv(n, 32),)](p, g, m, 0.01, 0.9, 0.99, 0.1, n, BLOCK=32)


def lion_reference(p, g, m):
    return p * (1 - 0.01 * 0.1) - 0.01 * torch.sign(0.9 * m + 0.1 * g), 0.99 * m + 0.01 * g


@triton.jit
def rmsprop_kernel(p_ptr, g_ptr, s_ptr, lr, alpha, eps, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    g = tl.load(g_ptr + offs, mask=mask)
    s = alpha * tl.load(s_ptr + offs, mask=mask, other=0.0) + (1.0 - alpha) * g * g
    p = tl.load(p_ptr + offs, mask=mask)
    tl.store(s_ptr + offs, s, mask=mask)
    tl.store(p_ptr + offs, p - lr * g / (tl.sqrt(s) + eps), mask=mask)


def rmsprop(p, g, s):
    n = p.numel()
    rmsprop_kernel[(triton.cdiv(n, 32),)](p, g, s, 0.01, 0.9, 1e-2, n, BLOCK=32)


def rmsprop_reference(p, g, s):
    s = 0.9 * s + 0.1 * g * g
    return p - 0.01 * g / (s.sqrt() + 1e-2), s


@triton.jit
def adagrad_kernel(p_ptr, g_ptr, s_ptr, lr, eps, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    g = tl.load(g_ptr + offs, mask=mask)
    s = tl.load(s_ptr + offs, mask=mask, other=0.0) + g * g
    p = tl.load(p_ptr + offs, mask=mask)
    tl.store(s_ptr + offs, s, mask=mask)
    tl.store(p_ptr + offs, p - lr * g / (tl.sqrt(s) + eps), mask=mask)


def adagrad(p, g, s):
    n = p.numel()
    adagrad_kernel[(triton.cdiv(n, 32),)](p, g, s, 0.05, 1e-2, n, BLOCK=32)


CASES = [
    Case(
        "sgd",
        sgd,
        lambda p, g, lr, wd: (p - lr * (g + wd * p),),
        lambda make: [[make(99), make(99), 0.1, 0.01]],
    ),
    Case("momentum", momentum, momentum_reference, lambda make: [[make(99), make(99), make(99), 0.1, 0.9]]),
    Case(
        "adam",
        adam,
        adam_reference,
        lambda make: [[make(99), make(99), make(99), make.uniform(99), 3]],
        data="given",
    ),
    Case(
        "adamw",
        adamw,
        adamw_reference,
        lambda make: [[make(99), make(99), make(99), make.uniform(99)]],
        data="given",
    ),
    Case(
        "lion",
        lion,
        lion_reference,
        lambda make: [[make(99), make(99), make(99)]],
        data=("given", "zeros", "integers"),
    ),
    Case(
        "rmsprop",
        rmsprop,
        rmsprop_reference,
        lambda make: [[make(99), make(99), make.uniform(99)]],
        data="given",
    ),
    Case(
        "adagrad",
        adagrad,
        lambda p, g, s: (p - 0.05 * g / ((s + g * g).sqrt() + 1e-2), s + g * g),
        lambda make: [[make(99), make(99), make.uniform(99)]],
        data="given",
    ),
]
