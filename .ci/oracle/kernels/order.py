"""Positions of extremes, sorting, and the largest elements."""

import torch
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def argmax_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=-float("inf"))
    tl.store(out_ptr + row, tl.argmax(x, axis=0))


def argmax(x):
    rows, cols = x.shape
    out = torch.empty(rows, dtype=torch.int32, device=x.device)
    argmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out


@triton.jit
def argmin_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=float("inf"))
    tl.store(out_ptr + row, tl.argmin(x, axis=0).to(tl.int64))


def argmin(x):
    rows, cols = x.shape
    out = torch.empty(rows, dtype=torch.int64, device=x.device)
    argmin_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out


@triton.jit
def max_index_kernel(x_ptr, value_ptr, index_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    best = -float("inf")
    best_at = 0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=-float("inf"))
        value, at = tl.max(x, axis=0, return_indices=True)
        better = value > best
        best_at = tl.where(better, start + at, best_at)
        best = tl.where(better, value, best)
    tl.store(value_ptr + row, best)
    tl.store(index_ptr + row, best_at)


def max_index(x):
    rows, cols = x.shape
    value = torch.empty(rows, dtype=x.dtype, device=x.device)
    index = torch.empty(rows, dtype=torch.int32, device=x.device)
    max_index_kernel[(rows,)](x, value, index, cols, BLOCK=8)
    return value, index


@triton.jit
def sort_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=float("inf"))
    tl.store(y_ptr + row * n_cols + cols, tl.sort(x), mask=mask)


def sort(x):
    y = torch.empty_like(x)
    rows, cols = x.shape
    sort_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def sort_descending_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=-2147483648)
    tl.store(y_ptr + row * n_cols + cols, tl.sort(x, descending=True), mask=mask)


def sort_descending(x):
    y = torch.empty_like(x)
    rows, cols = x.shape
    sort_descending_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def topk_kernel(x_ptr, y_ptr, n_cols, k, BLOCK: tl.constexpr):
    """The `k` largest, by removing the largest `k` times."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=-float("inf"))
    for i in range(k):
        best = tl.max(x, axis=0)
        at = tl.argmax(x, axis=0)
        tl.store(y_ptr + row * k + i, best)
        x = tl.where(cols == at, -float("inf"), x)


def topk(x, k):
    rows, cols = x.shape
    y = torch.empty((rows, k), dtype=x.dtype, device=x.device)
    topk_kernel[(rows,)](x, y, cols, k, BLOCK=triton.next_power_of_2(cols))
    return y


@triton.jit
def rank_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """The number of smaller elements, with ties in order."""
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    other = tl.load(x_ptr + j, mask=j < n, other=float("inf"))
    before = (other < x) | ((other == x) & (j < i))
    before = before & (j < n)
    tl.store(out_ptr + i, tl.sum(before.to(tl.int32), axis=0))


def rank(x):
    n = x.numel()
    out = torch.empty(n, dtype=torch.int32, device=x.device)
    rank_kernel[(n,)](x, out, n, BLOCK=triton.next_power_of_2(n))
    return out


@triton.jit
def searchsorted_kernel(edges_ptr, x_ptr, out_ptr, n_edges, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    low = tl.zeros([BLOCK], tl.int32)
    high = tl.zeros([BLOCK], tl.int32) + n_edges
    steps = n_edges
    while steps > 0:
        active = low < high
        mid = (low + high) // 2
        edge = tl.load(edges_ptr + mid, mask=active, other=0.0)
        right = active & (edge < x)
        low = tl.where(right, mid + 1, low)
        high = tl.where(active & (edge >= x), mid, high)
        steps = steps // 2
    tl.store(out_ptr + offs, low, mask=mask)


def searchsorted(edges, x):
    n = x.numel()
    out = torch.empty(n, dtype=torch.int32, device=x.device)
    searchsorted_kernel[(triton.cdiv(n, 16),)](edges, x, out, edges.numel(), n, BLOCK=16)
    return out


CASES = [
    Case(
        "argmax",
        argmax,
        lambda x: x.argmax(-1),
        lambda make: [[make(5, 29)], [-make.uniform(3, 13)]],
        data=FINITE,
    ),
    Case("argmin", argmin, lambda x: x.argmin(-1), lambda make: [[make(5, 29)], [make(3, 32)]], data=FINITE),
    Case(
        "max_index",
        max_index,
        lambda x: tuple(x.max(-1)),
        lambda make: [[make(5, 29)], [-make.uniform(3, 13)]],
        data=FINITE,
    ),
    Case("sort", sort, lambda x: x.sort(-1).values, lambda make: [[make(3, 29)], [make(2, 16)]], data=FINITE),
    Case(
        "sort_descending",
        sort_descending,
        lambda x: x.sort(-1, descending=True).values,
        lambda make: [[make.ints(3, 29, low=-100, high=100)]],
        data=FINITE,
    ),
    Case("topk", topk, lambda x, k: x.topk(k).values, lambda make: [[make(3, 29), 4]], data=FINITE),
    Case(
        "rank",
        rank,
        lambda x: x.argsort(stable=True).argsort(),
        lambda make: [[make(29)], [make.ints(16, high=5).float()]],
        data=FINITE,
    ),
    Case(
        "searchsorted",
        searchsorted,
        torch.searchsorted,
        lambda make: [[make(19).sort().values, make(37)]],
        data="given",
    ),
]
