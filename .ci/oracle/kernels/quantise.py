"""Quantisation to integers and small floats, and back."""

import torch
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def quantise_rows_kernel(x_ptr, q_ptr, scale_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    scale = tl.max(tl.abs(x), axis=0) / 127.0 + 1e-8
    q = x / scale
    q = tl.where(q >= 0, q + 0.5, q - 0.5).to(tl.int8)
    tl.store(q_ptr + row * n_cols + cols, q, mask=mask)
    tl.store(scale_ptr + row, scale)


def quantise_rows(x):
    q = torch.empty(x.shape, dtype=torch.int8, device=x.device)
    rows, cols = x.shape
    scale = torch.empty(rows, dtype=torch.float32, device=x.device)
    quantise_rows_kernel[(rows,)](x, q, scale, cols, BLOCK=triton.next_power_of_2(cols))
    return q, scale


def quantise_rows_reference(x):
    scale = x.abs().amax(-1) / 127 + 1e-8
    q = x / scale[:, None]
    return torch.where(q >= 0, q + 0.5, q - 0.5).to(torch.int8), scale


@triton.jit
def dequantise_rows_kernel(q_ptr, scale_ptr, zero_ptr, x_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    q = tl.load(q_ptr + row * n_cols + cols, mask=mask, other=0).to(tl.float32)
    scale = tl.load(scale_ptr + row)
    zero = tl.load(zero_ptr + row).to(tl.float32)
    tl.store(x_ptr + row * n_cols + cols, (q - zero) * scale, mask=mask)


def dequantise_rows(q, scale, zero):
    x = torch.empty(q.shape, dtype=torch.float32, device=q.device)
    rows, cols = q.shape
    dequantise_rows_kernel[(rows,)](q, scale, zero, x, cols, BLOCK=triton.next_power_of_2(cols))
    return x


@triton.jit
def fake_quantise_kernel(x_ptr, y_ptr, scale, zero, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    q = tl.floor(x / scale + 0.5) + zero
    q = tl.minimum(tl.maximum(q, 0.0), 255.0)
    tl.store(y_ptr + offs, (q - zero) * scale, mask=mask)


def fake_quantise(x, scale, zero):
    y = torch.empty_like(x)
    n = x.numel()
    fake_quantise_kernel[(triton.cdiv(n, 32),)](x, y, scale, zero, n, BLOCK=32)
    return y


@triton.jit
def unpack_int4_kernel(packed_ptr, scale_ptr, out_ptr, n_bytes, group, BLOCK: tl.constexpr):
    """Two unsigned nibbles of a byte, the low one first, around 8; a scale for each group of elements."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < n_bytes
    byte = tl.load(packed_ptr + row * n_bytes + i, mask=mask, other=0).to(tl.int32)
    low = (byte & 0xF) - 8
    high = ((byte >> 4) & 0xF) - 8
    groups = 2 * n_bytes // group
    s0 = tl.load(scale_ptr + row * groups + 2 * i // group, mask=mask)
    s1 = tl.load(scale_ptr + row * groups + (2 * i + 1) // group, mask=mask)
    tl.store(out_ptr + row * 2 * n_bytes + 2 * i, low.to(tl.float32) * s0, mask=mask)
    tl.store(out_ptr + row * 2 * n_bytes + 2 * i + 1, high.to(tl.float32) * s1, mask=mask)


def unpack_int4(packed, scale, group):
    rows, n_bytes = packed.shape
    out = torch.empty((rows, 2 * n_bytes), dtype=torch.float32, device=packed.device)
    unpack_int4_kernel[(rows,)](packed, scale, out, n_bytes, group, BLOCK=triton.next_power_of_2(n_bytes))
    return out


def unpack_int4_reference(packed, scale, group):
    p = packed.int()
    q = torch.stack([(p & 15) - 8, ((p >> 4) & 15) - 8], -1).flatten(1)
    return q * scale.repeat_interleave(group, 1)


@triton.jit
def pack_int4_kernel(q_ptr, packed_ptr, n_bytes, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n_bytes
    low = tl.load(q_ptr + 2 * i, mask=mask, other=0) & 0xF
    high = tl.load(q_ptr + 2 * i + 1, mask=mask, other=0) & 0xF
    tl.store(packed_ptr + i, (low | (high << 4)).to(tl.uint8), mask=mask)


def pack_int4(q):
    n_bytes = q.numel() // 2
    packed = torch.empty(n_bytes, dtype=torch.uint8, device=q.device)
    pack_int4_kernel[(triton.cdiv(n_bytes, 16),)](q, packed, n_bytes, BLOCK=16)
    return packed


@triton.jit
def scale_to_half_kernel(x_ptr, y_ptr, inverse, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.minimum(tl.maximum(x * inverse, -448.0), 448.0)
    tl.store(y_ptr + offs, y.to(tl.float16), mask=mask)


def scale_to_half(x, inverse):
    y = torch.empty(x.shape, dtype=torch.float16, device=x.device)
    n = x.numel()
    scale_to_half_kernel[(triton.cdiv(n, 32),)](x, y, inverse, n, BLOCK=32)
    return y


@triton.jit
def dequantise_fp8_kernel(x_ptr, scale_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """One scale for each tile of BM by BN."""
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rows = pid_m * BM + tl.arange(0, BM)
    cols = pid_n * BN + tl.arange(0, BN)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * N + cols[None, :], mask=mask).to(tl.float32)
    s = tl.load(scale_ptr + pid_m * tl.cdiv(N, BN) + pid_n)
    tl.store(y_ptr + rows[:, None] * N + cols[None, :], x * s, mask=mask)


def dequantise_fp8(x, scale):
    m, n = x.shape
    y = torch.empty((m, n), dtype=torch.float32, device=x.device)
    dequantise_fp8_kernel[(triton.cdiv(m, 8), triton.cdiv(n, 8))](x, scale, y, m, n, BM=8, BN=8)
    return y


def dequantise_fp8_reference(x, scale):
    wide = scale.repeat_interleave(8, 0).repeat_interleave(8, 1)
    return x.double() * wide[: x.shape[0], : x.shape[1]]


CASES = [
    Case(
        "quantise_rows",
        quantise_rows,
        quantise_rows_reference,
        lambda make: [[make(5, 29, scale=0.25)]],
        data="given",
    ),
    Case(
        "dequantise_rows",
        dequantise_rows,
        lambda q, s, z: (q.double() - z[:, None]) * s[:, None],
        lambda make: [
            [
                make.ints(5, 29, low=-128, high=128, dtype=torch.int8),
                make.uniform(5),
                make.ints(5, low=-9, high=9),
            ]
        ],
    ),
    Case(
        "fake_quantise",
        fake_quantise,
        lambda x, s, z: ((torch.floor(x / s + 0.5) + z).clamp(0, 255) - z) * s,
        lambda make: [[make(99), 0.03125, 100.0]],
        data="given",
    ),
    Case(
        "unpack_int4",
        unpack_int4,
        unpack_int4_reference,
        lambda make: [[make.ints(3, 12, high=256, dtype=torch.uint8), make.uniform(3, 4), 6]],
    ),
    Case(
        "pack_int4",
        pack_int4,
        lambda q: ((q[0::2] & 15) | ((q[1::2] & 15) << 4)).to(torch.uint8),
        lambda make: [[make.ints(42, low=-8, high=8)]],
    ),
    Case(
        "scale_to_half",
        scale_to_half,
        lambda x, inverse: (x * inverse).clamp(-448, 448),
        lambda make: [[make(99, scale=100.0), 4.0]],
        data=FINITE,
    ),
    Case(
        "dequantise_fp8",
        dequantise_fp8,
        dequantise_fp8_reference,
        lambda make: [[make(13, 19).to(torch.float8_e5m2), make.uniform(2, 3)]],
        data="given",
    ),
]
