import triton
import triton.language as tl


@triton.jit
def first_of_largest(a, i, b, j):
    left = (a > b) | ((a == b) & (i < j))
    return tl.where(left, a, b), tl.where(left, i, j)


@triton.jit
def largest_kernel(x, s0, s1, s2, out):
    """The largest of each row of a block [4, 8, 2] that is read as [8, 8]."""
    i = tl.arange(0, 4)[:, None, None] * s0
    j = tl.arange(0, 8)[None, :, None] * s1
    k = tl.arange(0, 2)[None, None, :] * s2
    rows = tl.load(x + i + j + k).reshape(8, 8)
    tl.store(out + tl.arange(0, 8), tl.max(rows, axis=1))


@triton.jit
def place_kernel(x, s0, s1, s2, out):
    i = tl.arange(0, 4)[:, None, None] * s0
    j = tl.arange(0, 8)[None, :, None] * s1
    k = tl.arange(0, 2)[None, None, :] * s2
    rows = tl.load(x + i + j + k).reshape(8, 8)
    columns = tl.broadcast_to(tl.arange(0, 8)[None, :], (8, 8))
    value, place = tl.reduce((rows, columns), 1, first_of_largest)
    tl.store(out + tl.arange(0, 8), place.to(tl.int16))
