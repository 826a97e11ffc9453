"""Kernels that are right, with launchers that relate their inputs. Tests plant one mistake at a time."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, x * 2.0, mask=offs < n)


def scale_all(x):
    """Its block must be a power of two."""
    out = torch.empty_like(x)
    n = x.numel()
    scale[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
    return out


@triton.jit
def multiply(k_ptr, v_ptr, out_ptr, stride_b, stride_s, stride_d, seq, dim, BLOCK: tl.constexpr):
    batch = tl.program_id(0)
    row = tl.program_id(1)
    d = tl.arange(0, BLOCK)
    at = batch * stride_b + row * stride_s + d * stride_d
    k = tl.load(k_ptr + at, mask=d < dim)
    v = tl.load(v_ptr + at, mask=d < dim)
    tl.store(out_ptr + (batch * seq + row) * dim + d, k * v, mask=d < dim)


def multiply_all(k, v):
    """The kernel gets the strides of `k` for both."""
    assert k.stride() == v.stride()
    batch, seq, dim = k.shape
    out = torch.empty((batch, seq, dim), device=k.device)
    block = triton.next_power_of_2(dim)
    multiply[(batch, seq)](k, v, out, *k.stride(), seq, dim, BLOCK=block)
    return out


def check_and_multiply(k, v):
    batch, seq, dim = k.shape
    if k.stride(0) != v.stride(0) or k.stride(1) != v.stride(1):
        raise ValueError("the strides differ")
    out = torch.empty((batch, seq, dim), device=k.device)
    block = triton.next_power_of_2(dim)
    multiply[(batch, seq)](k, v, out, *k.stride(), seq, dim, BLOCK=block)
    return out


@triton.jit
def gate(x_ptr, out_ptr, half, BLOCK: tl.constexpr):
    """A loop over half of a row, whose block is larger than the sizes that are tried at first."""
    row = tl.program_id(0)
    for start in range(0, half, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < half
        a = tl.load(x_ptr + row * 2 * half + cols, mask=mask)
        b = tl.load(x_ptr + row * 2 * half + half + cols, mask=mask)
        tl.store(out_ptr + row * half + cols, a * b, mask=mask)


def multiply_halves(x):
    x = x.contiguous()
    rows, n = x.shape
    if n % 2:
        raise ValueError("the rows have no halves")
    out = torch.empty((rows, n // 2), device=x.device)
    gate[(rows,)](x, out, n // 2, BLOCK=128)
    return out


@triton.jit
def add_pairs(x_ptr, out_ptr, pairs, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x_ptr + 2 * at, mask=at < pairs)
    b = tl.load(x_ptr + 2 * at + 1, mask=at < pairs)
    tl.store(out_ptr + at, a + b, mask=at < pairs)


def pair_sums(x):
    n = x.numel()
    assert n % 2 == 0
    out = torch.empty(n // 2, device=x.device)
    add_pairs[(triton.cdiv(n // 2, 128),)](x, out, n // 2, BLOCK=128)
    return out


@triton.jit
def pick(x_ptr, labels_ptr, out_ptr, stride, ignore_index):
    row = tl.program_id(0)
    label = tl.load(labels_ptr + row)
    x = tl.load(x_ptr + row * stride + label, mask=label != ignore_index, other=0.0)
    tl.store(out_ptr + row, x)


def pick_all(x, labels, ignore_index=-100):
    rows, cols = x.shape
    out = torch.empty(rows, device=x.device)
    pick[(rows,)](x, labels, out, x.stride(0), ignore_index)
    return out


@triton.jit
def take(x_ptr, ids_ptr, out_ptr, rows, dim, BLOCK: tl.constexpr):
    at = tl.program_id(0)
    row = tl.load(ids_ptr + at)
    d = tl.arange(0, BLOCK)
    is_row = row < rows
    x = tl.load(x_ptr + row * dim + d, mask=(d < dim) & is_row, other=0.0)
    tl.store(out_ptr + at * dim + d, tl.where(row == rows, 0.0, x), mask=d < dim)


def take_rows(x, ids):
    """An id of `rows` stands for none."""
    x = x.contiguous()
    rows, dim = x.shape
    out = torch.empty((ids.numel(), dim), device=x.device)
    take[(ids.numel(),)](x, ids, out, rows, dim, BLOCK=triton.next_power_of_2(dim))
    return out


@triton.jit
def sum_segments(x_ptr, ends_ptr, out_ptr, dim, stride, BLOCK: tl.constexpr):
    segment = tl.program_id(0)
    first = tl.load(ends_ptr + segment)
    end = tl.load(ends_ptr + segment + 1)
    d = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(first, end):
        total += tl.load(x_ptr + row * stride + d, mask=d < dim, other=0.0)
    tl.store(out_ptr + segment * dim + d, total, mask=d < dim)


def segment_sums(x, ends):
    dim = x.shape[1]
    segments = ends.numel() - 1
    out = torch.empty((segments, dim), device=x.device)
    sum_segments[(segments,)](x, ends, out, dim, x.stride(0), BLOCK=triton.next_power_of_2(dim))
    return out


@triton.jit
def sum_sequences(x_ptr, ends_ptr, out_ptr, dim, longest, BLOCK: tl.constexpr):
    """One program for each sequence of a jagged tensor, none of which has more rows than a number says."""
    sequence = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    first, end = tl.load(ends_ptr + sequence), tl.load(ends_ptr + sequence + 1)
    total = tl.zeros([BLOCK], tl.float32)
    for row in range(0, longest):
        at = first + row
        total += tl.load(x_ptr + at * dim + cols, mask=(at < end) & (cols < dim), other=0.0)
    tl.store(out_ptr + sequence * dim + cols, total, mask=cols < dim)


def sequence_sums(x, seqlen: int):
    out = torch.empty((x.shape[0], x.shape[2]), device=x.device)
    dim = x.shape[2]
    sum_sequences[(x.shape[0],)](x.values(), x.offsets(), out, dim, seqlen, BLOCK=triton.next_power_of_2(dim))
    return out


@triton.jit
def cut_rows(x_ptr, out_ptr, n, CHUNK: tl.constexpr, BLOCK: tl.constexpr):
    """The first chunk of each row, of any number of elements."""
    row, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + lanes, mask=(lanes < CHUNK) & (lanes < n), other=0.0)
    tl.store(out_ptr + row * CHUNK + lanes, x, mask=lanes < CHUNK)


def first_chunks(x, chunk_size):
    x = x.contiguous()
    rows, n = x.shape
    out = torch.empty((rows, chunk_size), device=x.device)
    cut_rows[(rows,)](x, out, n, CHUNK=chunk_size, BLOCK=triton.next_power_of_2(chunk_size))
    return out


def test_first_chunks():
    return first_chunks(torch.rand(3, 33, device="cuda"), 5)


@triton.jit
def find_largest(x_ptr, out_ptr, rows, n, DIM: tl.constexpr, BLOCK: tl.constexpr):
    at, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    if DIM == 1:
        x = tl.load(x_ptr + at * n + lanes, mask=lanes < n, other=-float("inf"))
    else:
        x = tl.load(x_ptr + lanes * n + at, mask=lanes < rows, other=-float("inf"))
    tl.store(out_ptr + at, tl.max(x, axis=0))


def largest(x, dim):
    x = x.contiguous()
    rows, n = x.shape
    if dim == 1:
        out = torch.empty(rows, device=x.device)
    else:
        out = torch.empty(n, device=x.device)
    block = triton.next_power_of_2(max(rows, n))
    find_largest[(out.numel(),)](x, out, rows, n, DIM=dim, BLOCK=block)
    return out
