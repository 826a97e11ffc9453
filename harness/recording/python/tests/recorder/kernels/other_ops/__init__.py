import triton
import triton.language as tl

from typing import NamedTuple

from . import nested

WIDTH: tl.constexpr = 2
STEP = tl.constexpr(10)


class Pair(NamedTuple):
    left: int
    right: int


PAIR = Pair(1, 2)


@triton.jit
def scale(x):
    return x * WIDTH


@triton.jit
def conflicting(x):
    return x + STEP
