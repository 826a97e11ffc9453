"""Kernels with every kind of parameter that Python knows and Triton binds."""

import triton
import triton.language as tl


@triton.jit
def plain_kernel(out, a, b, C: tl.constexpr):
    tl.store(out, a)
    tl.store(out + 1, b)
    tl.store(out + 2, C)


@triton.jit
def default_kernel(out, a=3, b=16, C: tl.constexpr = 7):
    tl.store(out, a)
    tl.store(out + 1, b)
    tl.store(out + 2, C)


@triton.jit
def keyword_only_kernel(out, *, n, C: tl.constexpr = 4):
    tl.store(out, n)
    tl.store(out + 1, C)


@triton.jit
def option_named_kernel(out, num_warps: tl.constexpr):
    tl.store(out, num_warps)


@triton.jit
def string_annotation_kernel(out, n: "tl.constexpr"):
    tl.store(out, n)


@triton.jit
def none_default_kernel(out, x=None, BLOCK: tl.constexpr = 4):
    offsets = tl.arange(0, BLOCK)
    if x is None:
        tl.store(out + offsets, offsets)
    else:
        tl.store(out + offsets, tl.load(x + offsets))


@triton.jit
def constexpr_kinds_kernel(out, kind: tl.constexpr):
    if kind is None:
        tl.store(out, 1)
    elif kind == "text":
        tl.store(out, 2)
    elif kind == 2.5:
        tl.store(out, 3)
    else:
        tl.store(out, 4)


@triton.jit
def sum_tuple_kernel(out, xs, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(xs[0] + offsets) + tl.load(xs[1] + offsets))
