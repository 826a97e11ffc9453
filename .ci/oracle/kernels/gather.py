"""Gathering and scattering by index."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def embedding_kernel(ids_ptr, table_ptr, out_ptr, width, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    token = tl.load(ids_ptr + pid)
    cols = tl.arange(0, BLOCK)
    mask = cols < width
    row = tl.load(table_ptr + token * width + cols, mask=mask)
    tl.store(out_ptr + pid * width + cols, row, mask=mask)


def embedding(ids, table):
    n, width = ids.numel(), table.shape[1]
    out = torch.empty((n, width), dtype=table.dtype, device=table.device)
    embedding_kernel[(n,)](ids, table, out, width, BLOCK=triton.next_power_of_2(width))
    return out


@triton.jit
def embedding_scaled_kernel(ids_ptr, table_ptr, pos_ptr, out_ptr, scale, width, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    token = tl.load(ids_ptr + pid)
    cols = tl.arange(0, BLOCK)
    mask = cols < width
    x = tl.load(table_ptr + token * width + cols, mask=mask) * scale
    x += tl.load(pos_ptr + pid * width + cols, mask=mask)
    tl.store(out_ptr + pid * width + cols, x, mask=mask)


def embedding_scaled(ids, table, positions):
    n, width = ids.numel(), table.shape[1]
    out = torch.empty((n, width), dtype=table.dtype, device=table.device)
    embedding_scaled_kernel[(n,)](ids, table, positions, out, 4.0, width, BLOCK=triton.next_power_of_2(width))
    return out


@triton.jit
def embedding_backward_kernel(ids_ptr, dy_ptr, dtable_ptr, width, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    token = tl.load(ids_ptr + pid)
    cols = tl.arange(0, BLOCK)
    mask = cols < width
    dy = tl.load(dy_ptr + pid * width + cols, mask=mask, other=0.0)
    tl.atomic_add(dtable_ptr + token * width + cols, dy, mask=mask)


def embedding_backward(ids, dy, vocab):
    width = dy.shape[1]
    dtable = torch.zeros((vocab, width), dtype=torch.float32, device=dy.device)
    embedding_backward_kernel[(ids.numel(),)](ids, dy, dtable, width, BLOCK=triton.next_power_of_2(width))
    return dtable


@triton.jit
def gather_kernel(x_ptr, index_ptr, out_ptr, n_cols, n_out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = offs // n_out
    index = tl.load(index_ptr + offs, mask=mask, other=0)
    tl.store(out_ptr + offs, tl.load(x_ptr + row * n_cols + index, mask=mask), mask=mask)


def gather(x, index):
    out = torch.empty(index.shape, dtype=x.dtype, device=x.device)
    n = index.numel()
    gather_kernel[(triton.cdiv(n, 16),)](x, index, out, x.shape[1], index.shape[1], n, BLOCK=16)
    return out


@triton.jit
def index_add_kernel(out_ptr, index_ptr, x_ptr, alpha, width, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < width
    row = tl.load(index_ptr + pid)
    x = tl.load(x_ptr + pid * width + cols, mask=mask, other=0.0)
    tl.atomic_add(out_ptr + row * width + cols, alpha * x, mask=mask)


def index_add(base, index, x, alpha):
    out = base.clone()
    width = x.shape[1]
    index_add_kernel[(index.numel(),)](out, index, x, alpha, width, BLOCK=triton.next_power_of_2(width))
    return out


@triton.jit
def scatter_rows_kernel(x_ptr, order_ptr, out_ptr, width, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    to = tl.load(order_ptr + pid)
    cols = tl.arange(0, BLOCK)
    mask = cols < width
    tl.store(out_ptr + to * width + cols, tl.load(x_ptr + pid * width + cols, mask=mask), mask=mask)


def scatter_rows(x, order):
    out = torch.empty_like(x)
    rows, width = x.shape
    scatter_rows_kernel[(rows,)](x, order, out, width, BLOCK=triton.next_power_of_2(width))
    return out


def scatter_rows_reference(x, order):
    out = torch.empty_like(x)
    out[order] = x
    return out


@triton.jit
def masked_fill_kernel(x_ptr, mask_ptr, out_ptr, value, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offs < n
    x = tl.load(x_ptr + offs, mask=inside)
    fill = tl.load(mask_ptr + offs, mask=inside, other=0)
    tl.store(out_ptr + offs, tl.where(fill != 0, value, x), mask=inside)


def masked_fill(x, mask, value):
    out = torch.empty_like(x)
    n = x.numel()
    masked_fill_kernel[(triton.cdiv(n, 32),)](x, mask, out, value, n, BLOCK=32)
    return out


@triton.jit
def one_hot_kernel(ids_ptr, out_ptr, classes, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    hot = cols == tl.load(ids_ptr + pid)
    tl.store(out_ptr + pid * classes + cols, hot.to(tl.int32), mask=cols < classes)


def one_hot(ids, classes):
    out = torch.empty((ids.numel(), classes), dtype=torch.int32, device=ids.device)
    one_hot_kernel[(ids.numel(),)](ids, out, classes, BLOCK=triton.next_power_of_2(classes))
    return out


@triton.jit
def bincount_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0)
    tl.atomic_add(out_ptr + x, tl.full([BLOCK], 1, tl.int32), mask=mask)


def bincount(x, bins):
    out = torch.zeros(bins, dtype=torch.int32, device=x.device)
    bincount_kernel[(triton.cdiv(x.numel(), 16),)](x, out, x.numel(), BLOCK=16)
    return out


@triton.jit
def histogram_kernel(x_ptr, out_ptr, n, low, width, BINS: tl.constexpr, BLOCK: tl.constexpr):
    total = tl.zeros([BINS], tl.int32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n
        x = tl.load(x_ptr + offs, mask=mask, other=0.0)
        b = ((x - low) / width).to(tl.int32)
        b = tl.minimum(tl.maximum(b, 0), BINS - 1)
        hits = (b[:, None] == tl.arange(0, BINS)[None, :]) & mask[:, None]
        total += tl.sum(hits.to(tl.int32), axis=0)
    tl.store(out_ptr + tl.arange(0, BINS), total)


def histogram(x):
    out = torch.empty(8, dtype=torch.int32, device=x.device)
    histogram_kernel[(1,)](x, out, x.numel(), -2.0, 0.5, BINS=8, BLOCK=16)
    return out


def histogram_reference(x):
    b = ((x + 2.0) / 0.5).to(torch.int64).clamp(0, 7)
    return torch.bincount(b, minlength=8)


CASES = [
    Case(
        "embedding",
        embedding,
        lambda ids, table: table[ids.long()],
        lambda make: [
            [make.ints(7, high=11), make(11, 13)],
            [make.ints(4, high=5), make(5, 16, dtype=torch.float16)],
        ],
    ),
    Case(
        "embedding_scaled",
        embedding_scaled,
        lambda ids, table, pos: table[ids.long()] * 4 + pos,
        lambda make: [[make.ints(7, high=11), make(11, 13), make(7, 13)]],
    ),
    Case(
        "embedding_backward",
        embedding_backward,
        lambda ids, dy, vocab: torch.zeros(vocab, dy.shape[1], dtype=dy.dtype).index_add(0, ids, dy),
        lambda make: [[make.ints(9, high=5), make(9, 13), 5]],
    ),
    Case(
        "gather",
        gather,
        lambda x, index: x.gather(1, index.long()),
        lambda make: [[make(5, 13), make.ints(5, 7, high=13)]],
    ),
    Case(
        "index_add",
        index_add,
        lambda base, index, x, alpha: base.index_add(0, index, x, alpha=alpha),
        lambda make: [[make(5, 13), make.ints(9, high=5), make(9, 13), 0.5]],
    ),
    Case(
        "scatter_rows",
        scatter_rows,
        scatter_rows_reference,
        lambda make: [[make(7, 13), make.permutation(7)]],
    ),
    Case(
        "masked_fill",
        masked_fill,
        lambda x, mask, value: x.masked_fill(mask != 0, value),
        lambda make: [[make(5, 13), make.ints(5, 13, high=2), -1.5]],
        data=FINITE,
    ),
    Case(
        "one_hot",
        one_hot,
        lambda ids, classes: F.one_hot(ids.long(), classes),
        lambda make: [[make.ints(7, high=13), 13]],
    ),
    Case(
        "bincount",
        bincount,
        lambda x, bins: torch.bincount(x, minlength=bins),
        lambda make: [[make.ints(50, high=9), 9]],
    ),
    Case("histogram", histogram, histogram_reference, lambda make: [[make(70)]], data="given"),
]
