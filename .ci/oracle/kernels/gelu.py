"""Forms of GELU and their derivatives."""

import math

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from case import Case


@triton.jit
def gelu_erf_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    y = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(y_ptr + offs, y, mask=mask)


def gelu_erf(x):
    y = torch.empty_like(x)
    n = x.numel()
    gelu_erf_kernel[(triton.cdiv(n, 128),)](x, y, n, BLOCK=128)
    return y


@triton.jit
def tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def gelu_tanh_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    tl.store(y_ptr + offs, 0.5 * x * (1.0 + tanh(inner)), mask=mask)


def gelu_tanh(x):
    y = torch.empty_like(x)
    n = x.numel()
    gelu_tanh_kernel[(triton.cdiv(n, 128),)](x, y, n, BLOCK=128)
    return y


@triton.jit
def quick_gelu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    tl.store(y_ptr + offs, x / (1.0 + tl.exp(-1.702 * x)), mask=mask)


def quick_gelu(x):
    y = torch.empty_like(x)
    n = x.numel()
    quick_gelu_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    return y


@triton.jit
def gelu_backward_kernel(dy_ptr, x_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    dy = tl.load(dy_ptr + offs, mask=mask).to(tl.float32)
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    cdf = 0.5 * (1.0 + tl.erf(x * 0.7071067811865476))
    pdf = 0.3989422804014327 * tl.exp(-0.5 * x * x)
    tl.store(dx_ptr + offs, dy * (cdf + x * pdf), mask=mask)


def gelu_backward(dy, x):
    dx = torch.empty_like(x)
    n = x.numel()
    gelu_backward_kernel[(triton.cdiv(n, 64),)](dy, x, dx, n, BLOCK=64)
    return dx


def gelu_backward_reference(dy, x):
    cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
    return dy * (cdf + x * torch.exp(-x * x / 2) / math.sqrt(2 * math.pi))


@triton.jit
def gelu_tanh_backward_kernel(dy_ptr, x_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    dy = tl.load(dy_ptr + offs, mask=mask).to(tl.float32)
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    t = tanh(0.7978845608028654 * x * (1.0 + 0.044715 * x * x))
    left = 0.5 * (1.0 + t)
    right = 0.5 * x * (1.0 - t * t) * 0.7978845608028654 * (1.0 + 0.134145 * x * x)
    tl.store(dx_ptr + offs, dy * (left + right), mask=mask)


def gelu_tanh_backward(dy, x):
    dx = torch.empty_like(x)
    n = x.numel()
    gelu_tanh_backward_kernel[(triton.cdiv(n, 64),)](dy, x, dx, n, BLOCK=64)
    return dx


def gelu_tanh_backward_reference(dy, x):
    c = math.sqrt(2 / math.pi)
    t = torch.tanh(c * (x + 0.044715 * x**3))
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x))


@triton.jit
def bias_gelu_kernel(x_ptr, bias_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask).to(tl.float32)
    x += tl.load(bias_ptr + cols, mask=mask).to(tl.float32)
    tl.store(y_ptr + row * n_cols + cols, x * 0.5 * (1.0 + tl.erf(x / 1.4142135623730951)), mask=mask)


def bias_gelu(x, bias):
    y = torch.empty_like(x)
    rows, cols = x.shape
    bias_gelu_kernel[(rows,)](x, bias, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y


CASES = [
    Case("gelu_erf", gelu_erf, F.gelu, lambda make: [[make(300)], [make(5, 9, dtype=torch.float16)]]),
    Case(
        "gelu_tanh",
        gelu_tanh,
        lambda x: F.gelu(x, approximate="tanh"),
        lambda make: [[make(300)], [make(5, 9, dtype=torch.bfloat16)]],
    ),
    Case("quick_gelu", quick_gelu, lambda x: x * torch.sigmoid(1.702 * x), lambda make: [[make(150)]]),
    Case("gelu_backward", gelu_backward, gelu_backward_reference, lambda make: [[make(150), make(150)]]),
    Case(
        "gelu_tanh_backward",
        gelu_tanh_backward,
        gelu_tanh_backward_reference,
        lambda make: [[make(150), make(150)]],
    ),
    Case(
        "bias_gelu",
        bias_gelu,
        lambda x, bias: F.gelu(x + bias),
        lambda make: [
            [make(3, 29), make(29)],
            [make(4, 32, dtype=torch.float16), make(32, dtype=torch.float16)],
        ],
    ),
]
