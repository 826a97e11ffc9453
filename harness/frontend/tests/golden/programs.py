import math
import triton
import triton.language as tl

G = 5
K = tl.constexpr(7)
T = (1, 2)
KT = tl.constexpr((1, 2))
NONE = None
DT = tl.float32
S = "s"
LAM = lambda x: x


def host(x):
    return x + 1


@triton.constexpr_function
def cf(x):
    return 2**x


@triton.jit
def g(a):
    return a + 1


@triton.jit
def rec(a):
    return rec(a + 1)


@triton.jit
def crec(N: tl.constexpr):
    if N == 0:
        return 0
    else:
        return crec(N - 1) + 1


@triton.jit
def two(a):
    if a > 3:
        return a
    return 1


@triton.jit
def twod(a):
    if a > 3:
        return a
    return 1.5


@triton.jit
def maybe(a):
    if a > 3:
        return a


@triton.jit
def pair(a):
    return a, 2


@triton.jit
def dpair(a):
    if a > 3:
        return a, 2
    return 1, a


@triton.jit
def four():
    return 4


@triton.jit
def nothing():
    pass


@triton.jit
def va(a, *rest):
    return a + rest[0] + len(rest)


@triton.jit
def dflt(a, b=3, c: tl.constexpr = 4):
    return a + b + c


@triton.jit
def k(p, n, C: tl.constexpr):
