"""Kernels that load what an earlier kernel of the same launcher stores. Tests plant one mistake at a time."""

import torch
import triton
import triton.language as tl


@triton.jit
def sum_parts(x_ptr, parts_ptr, cols, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    part = tl.program_id(1)
    offs = part * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + offs, mask=offs < cols, other=0.0)
    tl.store(parts_ptr + row * stride + part, tl.sum(x, axis=0))


@triton.jit
def add_parts(parts_ptr, out_ptr, count, stride, PARTS: tl.constexpr):
    row = tl.program_id(0)
    part = tl.arange(0, PARTS)
    x = tl.load(parts_ptr + row * stride + part, mask=part < count, other=0.0)
    tl.store(out_ptr + row, tl.sum(x, axis=0))


def row_sums(x):
    """Rows of partial sums have a power of two elements, and not all of them are written."""
    x = x.contiguous()
    rows, cols = x.shape
    count = triton.cdiv(cols, 32)
    width = triton.next_power_of_2(count)
    parts = torch.empty((rows, width), device=x.device)
    out = torch.empty(rows, device=x.device)
    sum_parts[(rows, count)](x, parts, cols, width, BLOCK=32)
    add_parts[(rows,)](parts, out, count, width, PARTS=width)
    return out
