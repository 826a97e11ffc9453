"""Named tuples as arguments."""

from typing import NamedTuple

import triton
import triton.language as tl


class Bounds(NamedTuple):
    low: tl.tensor
    high: tl.tensor


@triton.jit
def by_name_kernel(rows, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(rows.ptr + offsets * rows.stride, mask=offsets < rows.count, other=-1)
    tl.store(out + offsets, x)


@triton.jit
def by_place_kernel(rows, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(rows[0] + offsets * rows[1], mask=offsets < rows[2], other=-1)
    tl.store(out + offsets, x)


@triton.jit
def clamped(x, bounds):
    return Bounds(tl.maximum(x, bounds.low), tl.minimum(x, bounds.high))


@triton.jit
def passed_on_kernel(x, out, bounds, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    both = clamped(tl.load(x + offsets), bounds)
    tl.store(out + offsets, both.low + 10 * both.high)


@triton.jit
def nested_kernel(config, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    inner, scale = config
    x = tl.load(inner.ptr + offsets)
    if config.inner.bias is not None:
        x += config.inner.bias
    tl.store(out + offsets, x * scale)


@triton.jit
def constexpr_kernel(out, SHAPE: tl.constexpr):
    offsets = tl.arange(0, SHAPE.width)
    tl.store(out + offsets, offsets * SHAPE.factor)


@triton.jit
def no_field_kernel(rows, out):
    tl.store(out, rows.no_such_field)
