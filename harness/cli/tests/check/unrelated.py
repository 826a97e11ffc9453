"""The kernels of `related.py` without their faults."""
import torch
import triton
import triton.language as tl


@triton.jit
def moved_load(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at + 1, mask=at + 1 < n, other=0.0), mask=at < n)


@triton.jit
def moved_store(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * stride + tl.arange(0, BLOCK)
    keep = tl.arange(0, BLOCK) < n
    out = tl.load(out_ptr + at, mask=keep, other=0.0)
    tl.store(out_ptr + at, out + tl.load(x_ptr + at, mask=keep, other=0.0), mask=keep)


@triton.jit
def ends(starts_ptr, out_ptr):
    row = tl.program_id(0)
    tl.store(out_ptr + row, tl.load(starts_ptr + row + 1) - tl.load(starts_ptr + row))


@triton.jit
def whole_blocks(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(0, n, BLOCK):
        at = first + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * stride + at, mask=at < n, other=0.0)
    tl.store(out_ptr + row, tl.sum(total, axis=0))


@triton.jit
def mean_by_stride(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + at, mask=at < n, other=0.0)
    tl.store(out_ptr + row, tl.sum(x, axis=0) / n)


@triton.jit
def masked_variance(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + at, mask=at < n, other=0.0)
    apart = tl.where(at < n, x - tl.sum(x, axis=0) / n, 0.0)
    tl.store(out_ptr + row, tl.sum(apart * apart, axis=0) / n)


def compute_variance(x):
    rows, n = x.shape
    out = torch.empty((rows,), dtype=torch.float32, device=x.device)
    masked_variance[(rows,)](x, out, n, x.stride(0), BLOCK=128)
    return out


@triton.jit
def block_amax(x_ptr, out_ptr, scale_ptr, n, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    at = program * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    scale = tl.max(tl.abs(x), axis=0)
    tl.store(scale_ptr + program, scale)
    tl.store(out_ptr + at, x / scale, mask=at < n)


@triton.jit
def short_grid(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)


def copy(x):
    out = torch.empty_like(x)
    n = x.numel()
    short_grid[(triton.cdiv(n, 64),)](x, out, n, BLOCK=64)
    return out


@triton.jit
def scale_rows(x_ptr, out_ptr, n, stride_xm, stride_xn, stride_om, stride_on, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride_xm + at * stride_xn, mask=at < n, other=0.0)
    tl.store(out_ptr + row * stride_om + at * stride_on, x * 2.0, mask=at < n)


def scale(x):
    x = x.contiguous()
    rows, n = x.shape
    out = torch.empty_like(x)
    scale_rows[(rows,)](x, out, n, *x.stride(), *out.stride(), BLOCK=triton.next_power_of_2(n))
    return out


@triton.jit
def rotate(q_ptr, cos_ptr, sin_ptr, out_ptr, n, stride_qm, stride_cosm, stride_om, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    q = tl.load(q_ptr + row * stride_qm + at, mask=at < n, other=0.0)
    cos = tl.load(cos_ptr + row * stride_cosm + at, mask=at < n, other=0.0)
    sin = tl.load(sin_ptr + row * stride_cosm + at, mask=at < n, other=0.0)
    tl.store(out_ptr + row * stride_om + at, q * cos + q * sin, mask=at < n)


def rotate_rows(q):
    q = q.contiguous()
    rows, n = q.shape
    cos, sin, out = torch.ones_like(q), torch.ones_like(q), torch.empty_like(q)
    rotate[(rows,)](q, cos, sin, out, n, q.stride(0), cos.stride(0), out.stride(0), BLOCK=triton.next_power_of_2(n))
    return out


@triton.jit
def outer(x_ptr, y_ptr, out_ptr, m, n, stride_xm, stride_xn, stride_ym, stride_yn, stride_om, stride_on, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    mask = (rows < m) & (columns < n)
    x = tl.load(x_ptr + rows * stride_xm + columns * stride_xn, mask=mask)
    y = tl.load(y_ptr + rows * stride_ym + columns * stride_yn, mask=mask)
    tl.store(out_ptr + rows * stride_om + columns * stride_on, x * y, mask=mask)


@triton.jit
def overlap(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0) + 1.0, mask=at < n)


@triton.jit
def drop(x_ptr, out_ptr, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    keep = tl.rand(seed, at) > 0.5
    tl.store(out_ptr + at, tl.where(keep, x, 0.0), mask=at < n)


@triton.jit
def part_sums(x_ptr, part_ptr, n, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    at = program * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(part_ptr + program, tl.sum(x, axis=0))


def sum_all(x):
    n = x.numel()
    # One program more than needed adds nothing.
    parts = triton.cdiv(n, 64) + 1
    part = torch.empty((parts,), dtype=torch.float32, device=x.device)
    part_sums[(parts,)](x, part, n, BLOCK=64)
    return part.sum()


@triton.jit
def strided_sums(x_ptr, part_ptr, n, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(program * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(part_ptr + program, tl.sum(total, axis=0))


def sum_some(x):
    n = x.numel()
    part = torch.empty((2,), dtype=torch.float32, device=x.device)
    strided_sums[(2,)](x, part, n, BLOCK=16)
    return part.sum()
