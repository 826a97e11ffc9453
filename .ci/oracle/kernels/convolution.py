"""Convolutions, computed directly."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def causal_conv1d_kernel(
    x_ptr, w_ptr, bias_ptr, y_ptr, channels, length, WIDTH: tl.constexpr, BLOCK: tl.constexpr
):
    """Depthwise: each channel has `WIDTH` weights, and sees the past only."""
    t = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.program_id(1)
    channel = row % channels
    acc = tl.zeros([BLOCK], tl.float32) + tl.load(bias_ptr + channel)
    for k in tl.static_range(WIDTH):
        at = t - (WIDTH - 1) + k
        x = tl.load(x_ptr + row * length + at, mask=(at >= 0) & (at < length), other=0.0)
        acc += x * tl.load(w_ptr + channel * WIDTH + k)
    tl.store(y_ptr + row * length + t, acc * tl.sigmoid(acc), mask=t < length)


def causal_conv1d(x, w, bias):
    y = torch.empty_like(x)
    batch, channels, length = x.shape
    causal_conv1d_kernel[(triton.cdiv(length, 8), batch * channels)](
        x, w, bias, y, channels, length, WIDTH=w.shape[1], BLOCK=8
    )
    return y


def causal_conv1d_reference(x, w, bias):
    width = w.shape[1]
    return F.silu(F.conv1d(F.pad(x, (width - 1, 0)), w[:, None], bias, groups=x.shape[1]))


@triton.jit
def conv1d_kernel(
    x_ptr,
    w_ptr,
    y_ptr,
    c_in,
    c_out,
    length,
    out_length,
    stride,
    padding,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    t = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    o = tl.program_id(1)
    b = tl.program_id(2)
    acc = tl.zeros([BLOCK], tl.float32)
    for c in range(c_in):
        for k in range(WIDTH):
            at = t * stride - padding + k
            inside = (at >= 0) & (at < length) & (t < out_length)
            x = tl.load(x_ptr + (b * c_in + c) * length + at, mask=inside, other=0.0)
            w = tl.load(w_ptr + (o * c_in + c) * WIDTH + k)
            acc += x * w
    tl.store(y_ptr + (b * c_out + o) * out_length + t, acc, mask=t < out_length)


def conv1d(x, w, stride, padding):
    batch, c_in, length = x.shape
    c_out, _, width = w.shape
    out_length = (length + 2 * padding - width) // stride + 1
    y = torch.empty((batch, c_out, out_length), dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(out_length, 8), c_out, batch)
    conv1d_kernel[grid](x, w, y, c_in, c_out, length, out_length, stride, padding, WIDTH=width, BLOCK=8)
    return y


@triton.jit
def conv2d_kernel(
    x_ptr,
    w_ptr,
    b_ptr,
    y_ptr,
    c_in,
    H,
    W,
    c_out,
    OH,
    OW,
    KH: tl.constexpr,
    KW: tl.constexpr,
    BLOCK: tl.constexpr,
):
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    o = tl.program_id(1)
    mask = pixel < OH * OW
    oh = pixel // OW
    ow = pixel % OW
    acc = tl.zeros([BLOCK], tl.float32)
    for c in range(c_in):
        for kh in range(KH):
            for kw in range(KW):
                x = tl.load(x_ptr + (c * H + oh + kh) * W + ow + kw, mask=mask, other=0.0)
                acc += x * tl.load(w_ptr + ((o * c_in + c) * KH + kh) * KW + kw)
    tl.store(y_ptr + o * OH * OW + pixel, acc + tl.load(b_ptr + o), mask=mask)


def conv2d(x, w, bias):
    c_in, H, W = x.shape
    c_out, _, kh, kw = w.shape
    oh, ow = H - kh + 1, W - kw + 1
    y = torch.empty((c_out, oh, ow), dtype=x.dtype, device=x.device)
    conv2d_kernel[(triton.cdiv(oh * ow, 16), c_out)](
        x, w, bias, y, c_in, H, W, c_out, oh, ow, KH=kh, KW=kw, BLOCK=16
    )
    return y


@triton.jit
def pointwise_conv_kernel(x_ptr, w_ptr, y_ptr, C, P, O, BO: tl.constexpr, BP: tl.constexpr, BC: tl.constexpr):
    """A 1x1 convolution as a product of (O, C) and (C, P)."""
    o = tl.program_id(0) * BO + tl.arange(0, BO)
    p = tl.program_id(1) * BP + tl.arange(0, BP)
    acc = tl.zeros((BO, BP), tl.float32)
    for start in range(0, C, BC):
        c = start + tl.arange(0, BC)
        w = tl.load(w_ptr + o[:, None] * C + c[None, :], mask=(o[:, None] < O) & (c[None, :] < C), other=0.0)
        x = tl.load(x_ptr + c[:, None] * P + p[None, :], mask=(c[:, None] < C) & (p[None, :] < P), other=0.0)
        acc = tl.dot(w, x, acc)
    tl.store(y_ptr + o[:, None] * P + p[None, :], acc, mask=(o[:, None] < O) & (p[None, :] < P))


def pointwise_conv(x, w):
    c, h, width = x.shape
    o = w.shape[0]
    y = torch.empty((o, h, width), dtype=x.dtype, device=x.device)
    p = h * width
    pointwise_conv_kernel[(triton.cdiv(o, 16), triton.cdiv(p, 16))](x, w, y, c, p, o, BO=16, BP=16, BC=16)
    return y


@triton.jit
def box_blur_kernel(x_ptr, y_ptr, H, W, BLOCK: tl.constexpr):
    """The mean of the neighbours that exist, of 3 by 3."""
    i = tl.program_id(0)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    count = tl.zeros([BLOCK], tl.float32)
    for di in range(-1, 2):
        for dj in range(-1, 2):
            ii = i + di
            jj = j + dj
            inside = (ii >= 0) & (ii < H) & (jj >= 0) & (jj < W)
            total += tl.load(x_ptr + ii * W + jj, mask=inside, other=0.0)
            count += tl.where(inside, 1.0, 0.0)
    tl.store(y_ptr + i * W + j, total / tl.maximum(count, 1.0), mask=j < W)


def box_blur(x):
    y = torch.empty_like(x)
    h, w = x.shape
    box_blur_kernel[(h, triton.cdiv(w, 8))](x, y, h, w, BLOCK=8)
    return y


CASES = [
    Case(
        "causal_conv1d",
        causal_conv1d,
        causal_conv1d_reference,
        lambda make: [[make(2, 3, 21), make(3, 4), make(3)]],
    ),
    Case(
        "conv1d",
        conv1d,
        lambda x, w, s, p: F.conv1d(x, w, stride=s, padding=p),
        lambda make: [[make(2, 3, 21), make(4, 3, 3), 2, 1], [make(1, 2, 16), make(2, 2, 4), 1, 0]],
    ),
    Case("conv2d", conv2d, F.conv2d, lambda make: [[make(2, 7, 9), make(3, 2, 3, 2), make(3)]]),
    Case(
        "pointwise_conv",
        pointwise_conv,
        lambda x, w: torch.einsum("oc,chw->ohw", w, x),
        lambda make: [[make(20, 5, 7), make(9, 20)]],
    ),
    Case(
        "box_blur",
        box_blur,
        lambda x: F.avg_pool2d(x[None, None], 3, 1, 1, count_include_pad=False)[0, 0],
        lambda make: [[make(6, 13)]],
        data=FINITE,
    ),
]
