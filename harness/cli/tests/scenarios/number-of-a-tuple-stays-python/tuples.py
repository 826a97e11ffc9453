import triton
import triton.language as tl


@triton.jit
def pair():
    return 3, 1


@triton.jit
def three():
    return 3


@triton.jit
def tuple_item(x, out):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    t = (3, 1)
    tl.store(out + i, a + t[0])


@triton.jit
def of_pair(x, out):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    t = pair()
    tl.store(out + i, a * t[0] + t[1])


@triton.jit
def unpacked(x, out):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    b, c = pair()
    tl.store(out + i, a * b + c)


@triton.jit
def direct(x, out):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    tl.store(out + i, a + three())


@triton.jit
def assigned(x, out):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    c = three()
    tl.store(out + i, a + c)


@triton.jit
def nested(x, out):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    t = ((3, 2.5), 1)
    tl.store(out + i, a - t[0][1])


@triton.jit
def swapped(x, out):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    b, c = 2, 7
    b, c = c, b
    tl.store(out + i, a * b)
