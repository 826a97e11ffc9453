import enum
import math
import typing
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


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Pair(typing.NamedTuple):
    first: tl.tensor
    second: tl.tensor


class Plain:
    x = 1


@triton.aggregate
class Point:
    x: tl.tensor
    y: tl.tensor
    scale: tl.constexpr = 2

    @triton.jit
    def norm(self):
        return self.x * self.x + self.y * self.y

    @triton.jit
    def scaled(self, by):
        return Point(self.x * by, self.y * by, self.scale)

    @triton.jit
    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    @triton.constexpr_function
    def twice(self):
        return self.scale * 2

    @staticmethod
    @triton.jit
    def origin():
        return Point(0, 0)


@triton.aggregate
class Built:
    a: tl.tensor
    b: tl.constexpr

    @triton.constexpr_function
    def __init__(self, a, b):
        self.a = a
        self.b = tl.constexpr(b)


@triton.aggregate
class Child(Built):
    c: tl.constexpr

    @triton.constexpr_function
    def __init__(self, a):
        self.a = a
        self.b = tl.constexpr(5)
        self.c = tl.constexpr(6)


@triton.jit(noinline=True)
def far(a):
    return a * 2


@triton.jit(noinline=True)
def far_store(q, a):
    tl.store(q, a)


@triton.jit
def kwonly(a, *, b, c: tl.constexpr = 2):
    return a + b * c


@triton.jit
def annotated(a: tl.int64, b: tl.float32 = 1.0):
    return a


@triton.jit
def apply(f: tl.constexpr, a):
    return f(a)


@triton.jit
def const_of(a, N: tl.constexpr):
    return tl.zeros((N,), tl.int32) + a


@triton.jit
def inner_return(a):
    for i in range(a):
        if i > 2:
            return i
    return a


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def add2(a, b, c, d):
    return a + c, b + d


@triton.jit
def wrong_type(a, b):
    return (a + b).to(tl.float32)


@triton.jit
def three(a, b, c):
    return a


@triton.jit
def wide(a, b):
    return tl.zeros((4,), tl.int32)


@triton.jit
def storing(a, b):
    tl.store(a, b)
    return a


@triton.constexpr_function
def ctuple(a, b):
    return (a, b)


@triton.constexpr_function
def cfail(a):
    raise ValueError("no")


@triton.constexpr_function
def cdict(a):
    return {1: 2, 3: 4}[a]


@triton.constexpr_function
def cloop(n):
    total = 0
    for i in range(n):
        if i == 1:
            continue
        total += i
    return total


@triton.constexpr_function
def cassert(a):
    assert a > 0
    return a


@triton.jit
def loading(q):
    return tl.load(q)


@triton.jit
def halved(a):
    return a * 0.5


@triton.jit
def looped(a):
    total = 0
    for i in range(a):
        total += i
    return total


@triton.jit
def mismatched(a, b):
    return a, b * 0.5, a


@triton.jit
def pairup(a, b):
    return a + 1, b + 2


@triton.jit
def k(p, n, C: tl.constexpr):
