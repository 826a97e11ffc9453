"""Pooling and resampling."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def maxpool1d_kernel(x_ptr, y_ptr, length, out_length, stride, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    t = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    best = tl.full([BLOCK], -float("inf"), tl.float32)
    for k in tl.static_range(WIDTH):
        x = tl.load(x_ptr + row * length + t * stride + k, mask=t < out_length, other=-float("inf"))
        best = tl.maximum(best, x)
    tl.store(y_ptr + row * out_length + t, best, mask=t < out_length)


def maxpool1d(x, width, stride):
    rows, length = x.shape
    out_length = (length - width) // stride + 1
    y = torch.empty((rows, out_length), dtype=x.dtype, device=x.device)
    maxpool1d_kernel[(rows, triton.cdiv(out_length, 8))](
        x, y, length, out_length, stride, WIDTH=width, BLOCK=8
    )
    return y


@triton.jit
def avgpool1d_kernel(x_ptr, y_ptr, length, out_length, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    t = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for k in tl.static_range(WIDTH):
        total += tl.load(x_ptr + row * length + t * WIDTH + k, mask=t < out_length, other=0.0)
    tl.store(y_ptr + row * out_length + t, total / WIDTH, mask=t < out_length)


def avgpool1d(x, width):
    rows, length = x.shape
    out_length = length // width
    y = torch.empty((rows, out_length), dtype=x.dtype, device=x.device)
    avgpool1d_kernel[(rows, triton.cdiv(out_length, 8))](x, y, length, out_length, WIDTH=width, BLOCK=8)
    return y


@triton.jit
def maxpool2d_kernel(
    x_ptr, y_ptr, H, W, OH, OW, padding, KERNEL: tl.constexpr, STRIDE: tl.constexpr, BLOCK: tl.constexpr
):
    c = tl.program_id(0)
    pixel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    oh = pixel // OW
    ow = pixel % OW
    best = tl.full([BLOCK], -float("inf"), tl.float32)
    for kh in range(KERNEL):
        for kw in range(KERNEL):
            h = oh * STRIDE - padding + kh
            w = ow * STRIDE - padding + kw
            inside = (h >= 0) & (h < H) & (w >= 0) & (w < W) & (pixel < OH * OW)
            best = tl.maximum(best, tl.load(x_ptr + (c * H + h) * W + w, mask=inside, other=-float("inf")))
    tl.store(y_ptr + c * OH * OW + pixel, best, mask=pixel < OH * OW)


def maxpool2d(x):
    c, h, w = x.shape
    oh, ow = (h + 2 - 3) // 2 + 1, (w + 2 - 3) // 2 + 1
    y = torch.empty((c, oh, ow), dtype=x.dtype, device=x.device)
    maxpool2d_kernel[(c, triton.cdiv(oh * ow, 8))](x, y, h, w, oh, ow, 1, KERNEL=3, STRIDE=2, BLOCK=8)
    return y


@triton.jit
def global_avgpool_kernel(x_ptr, y_ptr, size, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    acc = tl.zeros([BLOCK], tl.float32)
    for start in range(0, size, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + pid * size + offs, mask=offs < size, other=0.0).to(tl.float32)
    tl.store(y_ptr + pid, tl.sum(acc, axis=0) / size)


def global_avgpool(x):
    n, c, h, w = x.shape
    y = torch.empty((n, c), dtype=x.dtype, device=x.device)
    global_avgpool_kernel[(n * c,)](x, y, h * w, BLOCK=16)
    return y


@triton.jit
def upsample_nearest_kernel(x_ptr, y_ptr, H, W, scale, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    OW = W * scale
    oh = offs // OW
    ow = offs % OW
    tl.store(y_ptr + offs, tl.load(x_ptr + oh // scale * W + ow // scale, mask=mask), mask=mask)


def upsample_nearest(x, scale):
    h, w = x.shape
    y = torch.empty((h * scale, w * scale), dtype=x.dtype, device=x.device)
    n = y.numel()
    upsample_nearest_kernel[(triton.cdiv(n, 32),)](x, y, h, w, scale, n, BLOCK=32)
    return y


@triton.jit
def lerp1d_kernel(x_ptr, y_ptr, n_in, n_out, BLOCK: tl.constexpr):
    """Linear interpolation with both ends kept (`align_corners`)."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n_out
    left = i * (n_in - 1) // (n_out - 1)
    rest = i * (n_in - 1) - left * (n_out - 1)
    w = rest.to(tl.float32) / (n_out - 1)
    right = tl.minimum(left + 1, n_in - 1)
    a = tl.load(x_ptr + left, mask=mask)
    b = tl.load(x_ptr + right, mask=mask)
    tl.store(y_ptr + i, a * (1.0 - w) + b * w, mask=mask)


def lerp1d(x, n_out):
    y = torch.empty(n_out, dtype=x.dtype, device=x.device)
    lerp1d_kernel[(triton.cdiv(n_out, 16),)](x, y, x.numel(), n_out, BLOCK=16)
    return y


@triton.jit
def pixel_shuffle_kernel(x_ptr, y_ptr, H, W, R, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    ow = offs % (W * R)
    oh = offs // (W * R) % (H * R)
    c = offs // (W * R * H * R)
    source = c * R * R + oh % R * R + ow % R
    at = (source * H + oh // R) * W + ow // R
    tl.store(y_ptr + offs, tl.load(x_ptr + at, mask=mask), mask=mask)


def pixel_shuffle(x, r):
    c, h, w = x.shape
    y = torch.empty((c // (r * r), h * r, w * r), dtype=x.dtype, device=x.device)
    n = y.numel()
    pixel_shuffle_kernel[(triton.cdiv(n, 32),)](x, y, h, w, r, n, BLOCK=32)
    return y


CASES = [
    Case("maxpool1d", maxpool1d, F.max_pool1d, lambda make: [[make(3, 29), 3, 2]], data=FINITE),
    Case("avgpool1d", avgpool1d, F.avg_pool1d, lambda make: [[make(3, 29), 3]]),
    Case(
        "maxpool2d",
        maxpool2d,
        lambda x: F.max_pool2d(x, 3, 2, 1),
        lambda make: [[make(2, 9, 11)]],
        data=FINITE,
    ),
    Case(
        "global_avgpool",
        global_avgpool,
        lambda x: x.mean((2, 3)),
        lambda make: [[make(2, 3, 5, 7)], [make(1, 2, 4, 8, dtype=torch.float16)]],
    ),
    Case(
        "upsample_nearest",
        upsample_nearest,
        lambda x, s: x.repeat_interleave(s, 0).repeat_interleave(s, 1),
        lambda make: [[make(5, 7), 2]],
    ),
    Case(
        "lerp1d",
        lerp1d,
        lambda x, n: F.interpolate(x[None, None], n, mode="linear", align_corners=True)[0, 0],
        lambda make: [[make(9), 29]],
        data=FINITE,
    ),
    Case("pixel_shuffle", pixel_shuffle, F.pixel_shuffle, lambda make: [[make(8, 3, 5), 2]]),
]
