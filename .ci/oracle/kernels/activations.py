"""Activations, each in a kernel of one dimension."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(y_ptr + offs, tl.maximum(x, 0.0), mask=mask)


def relu(x):
    y = torch.empty_like(x)
    n = x.numel()
    relu_kernel[(triton.cdiv(n, 128),)](x, y, n, BLOCK=128)
    return y


@triton.jit
def leaky_relu_kernel(x_ptr, y_ptr, slope, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(y_ptr + offs, tl.where(x >= 0, x, slope * x), mask=mask)


def leaky_relu(x, slope):
    y = torch.empty_like(x)
    n = x.numel()
    leaky_relu_kernel[(triton.cdiv(n, 128),)](x, y, slope, n, BLOCK=128)
    return y


@triton.jit
def elu_kernel(x_ptr, y_ptr, alpha, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    y = tl.where(x > 0, x, alpha * (tl.exp(tl.minimum(x, 0.0)) - 1.0))
    tl.store(y_ptr + offs, y, mask=mask)


def elu(x, alpha):
    y = torch.empty_like(x)
    n = x.numel()
    elu_kernel[(triton.cdiv(n, 64),)](x, y, alpha, n, BLOCK=64)
    return y


@triton.jit
def selu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    alpha = 1.6732632423543772
    scale = 1.0507009873554805
    negative = alpha * (tl.exp(x) - 1.0)
    tl.store(y_ptr + offs, scale * tl.where(x > 0, x, negative), mask=mask)


def selu(x):
    y = torch.empty_like(x)
    n = x.numel()
    selu_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    return y


@triton.jit
def hardswish_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    gate = tl.minimum(tl.maximum(x + 3.0, 0.0), 6.0) / 6.0
    tl.store(y_ptr + offs, x * gate, mask=mask)


def hardswish(x):
    y = torch.empty_like(x)
    n = x.numel()
    hardswish_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    return y


@triton.jit
def hardtanh_kernel(x_ptr, y_ptr, low, high, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(y_ptr + offs, tl.minimum(tl.maximum(x, low), high), mask=mask)


def hardtanh(x, low, high):
    y = torch.empty_like(x)
    n = x.numel()
    hardtanh_kernel[(triton.cdiv(n, 64),)](x, y, low, high, n, BLOCK=64)
    return y


@triton.jit
def softplus_kernel(x_ptr, y_ptr, beta, threshold, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    z = x * beta
    soft = tl.log(1.0 + tl.exp(tl.minimum(z, threshold))) / beta
    tl.store(y_ptr + offs, tl.where(z > threshold, x, soft), mask=mask)


def softplus(x, beta, threshold):
    y = torch.empty_like(x)
    n = x.numel()
    softplus_kernel[(triton.cdiv(n, 64),)](x, y, beta, threshold, n, BLOCK=64)
    return y


@triton.jit
def sigmoid_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    tl.store(y_ptr + offs, 1.0 / (1.0 + tl.exp(-x)), mask=mask)


def sigmoid(x):
    y = torch.empty_like(x)
    n = x.numel()
    sigmoid_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    return y


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    tl.store(y_ptr + offs, x * tl.sigmoid(x), mask=mask)


def silu(x):
    y = torch.empty_like(x)
    n = x.numel()
    silu_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    return y


@triton.jit
def silu_backward_kernel(dy_ptr, x_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    dy = tl.load(dy_ptr + offs, mask=mask).to(tl.float32)
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    s = tl.sigmoid(x)
    tl.store(dx_ptr + offs, dy * s * (1.0 + x * (1.0 - s)), mask=mask)


def silu_backward(dy, x):
    dx = torch.empty_like(x)
    n = x.numel()
    silu_backward_kernel[(triton.cdiv(n, 64),)](dy, x, dx, n, BLOCK=64)
    return dx


@triton.jit
def tanh_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    tl.store(y_ptr + offs, 2.0 * tl.sigmoid(2.0 * x) - 1.0, mask=mask)


def tanh(x):
    y = torch.empty_like(x)
    n = x.numel()
    tanh_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    return y


@triton.jit
def prelu_kernel(x_ptr, weight_ptr, y_ptr, channels, length, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    slope = tl.load(weight_ptr + (offs // length) % channels, mask=mask)
    tl.store(y_ptr + offs, tl.where(x > 0, x, x * slope), mask=mask)


def prelu(x, weight):
    y = torch.empty_like(x)
    n = x.numel()
    prelu_kernel[(triton.cdiv(n, 64),)](x, weight, y, x.shape[1], x.shape[2], n, BLOCK=64)
    return y


def unary(make):
    return [[make(1000)], [make(3, 29, dtype=torch.float16)], [make(70, dtype=torch.bfloat16)]]


CASES = [
    Case("relu", relu, F.relu, unary, data=FINITE),
    Case(
        "leaky_relu",
        leaky_relu,
        F.leaky_relu,
        lambda make: [[make(200), 0.125], [make(5, 7), 0.01]],
        data=FINITE,
    ),
    Case(
        "elu",
        elu,
        F.elu,
        lambda make: [[make(200), 1.0], [make(5, 7, dtype=torch.float16), 0.5]],
        data=FINITE,
    ),
    Case("selu", selu, F.selu, lambda make: [[make(200)], [make(5, 7)]], data=FINITE),
    Case(
        "hardswish", hardswish, F.hardswish, lambda make: [[make(200, scale=3.0)], [make(5, 7)]], data=FINITE
    ),
    Case("hardtanh", hardtanh, F.hardtanh, lambda make: [[make(200), -0.75, 1.25]], data=FINITE),
    Case("softplus", softplus, F.softplus, lambda make: [[make(200, scale=4.0), 2.0, 20.0]], data=FINITE),
    Case("sigmoid", sigmoid, torch.sigmoid, unary),
    Case("silu", silu, F.silu, unary),
    Case(
        "silu_backward",
        silu_backward,
        lambda dy, x: dy * torch.sigmoid(x) * (1 + x * (1 - torch.sigmoid(x))),
        lambda make: [[make(130), make(130)]],
    ),
    Case("tanh", tanh, torch.tanh, lambda make: [[make(300, scale=2.0)]]),
    Case("prelu", prelu, F.prelu, lambda make: [[make(2, 3, 11), make.uniform(3)]], data=FINITE),
]
