"""Kernels with autotuners and heuristics."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from case import FINITE, Case


@triton.autotune(
    configs=[triton.Config({"BLOCK": 32}, num_warps=1), triton.Config({"BLOCK": 64}, num_warps=2)],
    key=["n"],
)
@triton.jit
def scale_shift_kernel(x_ptr, y_ptr, scale, shift, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x * scale + shift, mask=offs < n)


def scale_shift(x, scale, shift):
    y = torch.empty_like(x)
    n = x.numel()
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    scale_shift_kernel[grid](x, y, scale, shift, n)
    return y


@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n_cols"])})
@triton.jit
def centre_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    tl.store(y_ptr + row * n_cols + cols, x - tl.sum(x, axis=0) / n_cols, mask=mask)


def centre(x):
    y = torch.empty_like(x)
    rows, cols = x.shape
    centre_kernel[(rows,)](x, y, cols)
    return y


@triton.heuristics({"HAS_BIAS": lambda args: args["b_ptr"] is not None})
@triton.jit
def affine_kernel(x_ptr, w_ptr, b_ptr, y_ptr, n_cols, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    y = tl.load(x_ptr + row * n_cols + cols, mask=mask) * tl.load(w_ptr + cols, mask=mask)
    if HAS_BIAS:
        y += tl.load(b_ptr + cols, mask=mask)
    tl.store(y_ptr + row * n_cols + cols, y, mask=mask)


def affine(x, w, b):
    y = torch.empty_like(x)
    rows, cols = x.shape
    affine_kernel[(rows,)](x, w, b, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def fused_mlp_kernel(x_ptr, w1_ptr, w2_ptr, y_ptr, M, H, D: tl.constexpr, BM: tl.constexpr, BH: tl.constexpr):
    """`relu(x @ w1) ** 2 @ w2`, with the hidden layer in blocks."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    x = tl.load(x_ptr + rm[:, None] * D + d[None, :], mask=rm[:, None] < M, other=0.0)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, H, BH):
        h = start + tl.arange(0, BH)
        w1 = tl.load(w1_ptr + d[:, None] * H + h[None, :], mask=h[None, :] < H, other=0.0)
        hidden = tl.maximum(tl.dot(x, w1), 0.0)
        hidden = hidden * hidden
        w2 = tl.load(w2_ptr + h[:, None] * D + d[None, :], mask=h[:, None] < H, other=0.0)
        acc += tl.dot(hidden, w2)
    tl.store(y_ptr + rm[:, None] * D + d[None, :], acc, mask=rm[:, None] < M)


def fused_mlp(x, w1, w2):
    y = torch.empty_like(x)
    m, d = x.shape
    fused_mlp_kernel[(triton.cdiv(m, 16),)](x, w1, w2, y, m, w1.shape[1], D=d, BM=16, BH=16)
    return y


@triton.jit
def hadamard_kernel(x_ptr, y_ptr, scale, N: tl.constexpr):
    """The Walsh-Hadamard transform of a row, by signs of the parity of `i & j`."""
    row = tl.program_id(0)
    i = tl.arange(0, N)
    bits = i[:, None] & i[None, :]
    bits = bits ^ (bits >> 2)
    bits = (bits ^ (bits >> 1)) & 1
    x = tl.load(x_ptr + row * N + i)
    y = tl.sum(tl.where(bits == 0, x[None, :], -x[None, :]), axis=1)
    tl.store(y_ptr + row * N + i, y * scale)


def hadamard(x):
    y = torch.empty_like(x)
    rows, n = x.shape
    hadamard_kernel[(rows,)](x, y, n**-0.5, N=n)
    return y


def hadamard_reference(x):
    h = torch.ones(1, 1, dtype=x.dtype)
    while h.shape[0] < x.shape[1]:
        h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)], 0)
    return x @ h / x.shape[1] ** 0.5


CASES = [
    Case("scale_shift", scale_shift, lambda x, a, b: x * a + b, lambda make: [[make(99), 0.5, -1.0]]),
    Case("centre", centre, lambda x: x - x.mean(-1, keepdim=True), lambda make: [[make(3, 29)]]),
    Case(
        "affine",
        affine,
        lambda x, w, b: x * w if b is None else x * w + b,
        lambda make: [[make(3, 13), make(13), make(13)], [make(3, 13), make(13), None]],
    ),
    Case(
        "fused_mlp",
        fused_mlp,
        lambda x, w1, w2: F.relu(x @ w1) ** 2 @ w2,
        lambda make: [[make(19, 16), make(16, 40), make(40, 16)]],
        data=FINITE,
    ),
    Case("hadamard", hadamard, hadamard_reference, lambda make: [[make(3, 16)]], data=FINITE),
]
