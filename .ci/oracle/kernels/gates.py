"""Gated linear units."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def swiglu_kernel(a_ptr, b_ptr, c_ptr, stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    a = tl.load(a_ptr + row * stride + cols, mask=mask, other=0).to(tl.float32)
    b = tl.load(b_ptr + row * stride + cols, mask=mask, other=0).to(tl.float32)
    c = a * tl.sigmoid(a) * b
    tl.store(c_ptr + row * stride + cols, c, mask=mask)


def swiglu(a, b):
    c = torch.empty_like(a)
    rows, cols = a.shape
    swiglu_kernel[(rows,)](a, b, c, c.stride(-2), cols, BLOCK_SIZE=triton.next_power_of_2(cols))
    return c


@triton.jit
def swiglu_backward_kernel(dc_ptr, a_ptr, b_ptr, da_ptr, db_ptr, stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    dc = tl.load(dc_ptr + row * stride + cols, mask=mask, other=0).to(tl.float32)
    a = tl.load(a_ptr + row * stride + cols, mask=mask, other=0).to(tl.float32)
    b = tl.load(b_ptr + row * stride + cols, mask=mask, other=0).to(tl.float32)
    sig = tl.sigmoid(a)
    silu = a * sig
    tl.store(db_ptr + row * stride + cols, dc * silu, mask=mask)
    tl.store(da_ptr + row * stride + cols, dc * (silu * (1 - sig) + sig) * b, mask=mask)


def swiglu_backward(dc, a, b):
    da, db = torch.empty_like(a), torch.empty_like(b)
    rows, cols = a.shape
    swiglu_backward_kernel[(rows,)](
        dc, a, b, da, db, a.stride(0), cols, BLOCK_SIZE=triton.next_power_of_2(cols)
    )
    return da, db


def swiglu_backward_reference(dc, a, b):
    s = torch.sigmoid(a)
    return dc * b * (s + a * s * (1 - s)), dc * a * s


@triton.jit
def geglu_kernel(x_ptr, out_ptr, half, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < half
    gate = tl.load(x_ptr + row * 2 * half + cols, mask=mask).to(tl.float32)
    up = tl.load(x_ptr + row * 2 * half + half + cols, mask=mask).to(tl.float32)
    inner = 0.7978845608028654 * (gate + 0.044715 * gate * gate * gate)
    t = 2.0 / (1.0 + tl.exp(-2.0 * inner)) - 1.0
    tl.store(out_ptr + row * half + cols, 0.5 * gate * (1.0 + t) * up, mask=mask)


def geglu(x):
    rows, width = x.shape
    half = width // 2
    out = torch.empty((rows, half), dtype=x.dtype, device=x.device)
    geglu_kernel[(rows,)](x, out, half, BLOCK=triton.next_power_of_2(half))
    return out


def geglu_reference(x):
    gate, up = x.chunk(2, dim=-1)
    return F.gelu(gate, approximate="tanh") * up


@triton.jit
def glu_kernel(x_ptr, out_ptr, half, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    at = i // half * (2 * half) + i % half
    a = tl.load(x_ptr + at, mask=mask).to(tl.float32)
    b = tl.load(x_ptr + at + half, mask=mask).to(tl.float32)
    tl.store(out_ptr + i, a * tl.sigmoid(b), mask=mask)


def glu(x):
    rows, width = x.shape
    out = torch.empty(rows, width // 2, dtype=x.dtype, device=x.device)
    n = out.numel()
    glu_kernel[(triton.cdiv(n, 64),)](x, out, width // 2, n, BLOCK=64)
    return out


@triton.jit
def reglu_kernel(gate_ptr, up_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    gate = tl.load(gate_ptr + i, mask=mask)
    up = tl.load(up_ptr + i, mask=mask)
    tl.store(out_ptr + i, tl.where(gate > 0, gate, 0.0) * up, mask=mask)


def reglu(gate, up):
    out = torch.empty_like(gate)
    n = out.numel()
    reglu_kernel[(triton.cdiv(n, 32),)](gate, up, out, n, BLOCK=32)
    return out


CASES = [
    Case(
        "swiglu",
        swiglu,
        lambda a, b: F.silu(a) * b,
        lambda make: [
            [make(3, 29), make(3, 29)],
            [make(2, 64, dtype=torch.float16), make(2, 64, dtype=torch.float16)],
        ],
    ),
    Case(
        "swiglu_backward",
        swiglu_backward,
        swiglu_backward_reference,
        lambda make: [[make(3, 29), make(3, 29), make(3, 29)]],
    ),
    Case("geglu", geglu, geglu_reference, lambda make: [[make(3, 38)], [make(2, 64, dtype=torch.bfloat16)]]),
    Case("glu", glu, F.glu, lambda make: [[make(5, 22)], [make(2, 64, dtype=torch.float16)]]),
    Case(
        "reglu",
        reglu,
        lambda gate, up: F.relu(gate) * up,
        lambda make: [[make(5, 22), make(5, 22)]],
        data=FINITE,
    ),
]
