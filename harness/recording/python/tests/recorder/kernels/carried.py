"""Kernels that need many of the names around them."""

from __future__ import print_function

import enum
import math
from collections import namedtuple

import other_ops
import other_ops as again
import triton
import triton.language as tl
from other_ops import scale as rescale
from triton.language.extra import libdevice
from triton.language.standard import _log2 as tritons_own

BLOCK = 16
LIMIT: tl.constexpr = 7
OFFSET = tl.constexpr(3)
INFINITE: tl.constexpr = float("inf")
KIND = tl.float32
UNUSED = object()
Ints = tl.constexpr


class Mode(enum.Enum):
    PLUS = 1
    MINUS = 2


def plain(n):
    return int(math.log2(n))


@triton.jit
def inner(x):
    # Kept, as it is written.
    return x + LIMIT


@triton.jit(noinline=True)
def outlined(x):
    return x * 2


@triton.jit(do_not_specialize=["n"])
def everything(
    ptr: "a pointer",
    n: int,
    mode: Ints,
    block: tl.constexpr = BLOCK,
):
    at = tl.arange(0, block)
    x = tl.load(ptr + at, mask=at < n, other=0.0).to(KIND)
    x = tl.where(x < INFINITE, inner(x), 0.0)
    x = rescale(x) + OFFSET
    x = again.nested.shift(x)
    tl.store(ptr + at, x, mask=at < n)


@triton.jit
def modes(ptr, mode: tl.constexpr):
    tl.store(ptr, 1.0 if mode == Mode.PLUS else 2.0)


@triton.jit
def counts(ptr, n: tl.constexpr):
    tl.store(ptr, plain(n))


@triton.jit
def cosine(ptr):
    tl.store(ptr, libdevice.cos(tl.load(ptr)))


@triton.jit
def refuses(ptr):
    tl.store(ptr, UNUSED)


@triton.jit
def passes_modules(ptr):
    tl.store(ptr, getattr(other_ops, "WIDTH"))


def closed(step, function):
    @triton.jit
    def closure(ptr):
        tl.store(ptr, function(tl.load(ptr)) + step)

    return closure


class Torchlike:
    pass


@triton.jit
def annotated(ptr: Torchlike, other: "Torchlike" = None, n: tl.int32 = 4) -> Torchlike:
    tl.store(ptr, 1.0)


@triton.jit
def twice_named(ptr):
    tl.store(ptr, other_ops.conflicting(other_ops.nested.conflicting(tl.load(ptr))))


@triton.jit
def recursive(x, n: tl.constexpr):
    if n == 0:
        return x
    return recursive(x, n - 1)


@triton.jit
def uses_pairs(ptr):
    tl.store(ptr, other_ops.PAIR.left + other_ops.PAIR.right)


Point = namedtuple("Point", ["x", "y"])


@triton.jit
def by_name(point, out):
    tl.store(out, point.x + point.y)


@triton.jit
def by_place(point, out):
    tl.store(out, point[0] + point[1])


@triton.jit
def logarithm(ptr, n: tl.constexpr):
    tl.store(ptr, tritons_own(n))


@triton.jit
def copy(out, ptr):
    tl.store(out, tl.load(ptr))
