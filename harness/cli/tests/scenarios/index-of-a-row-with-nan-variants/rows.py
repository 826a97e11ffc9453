import triton
import triton.language as tl


@triton.jit
def first_greater(v1, i1, v2, i2):
    keep = (v1 > v2) | ((v1 == v2) & (i1 < i2))
    return tl.where(keep, v1, v2), tl.where(keep, i1, i2)


@triton.jit
def rows(x, values, indices, OP: tl.constexpr, LEFT: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, 8), tl.arange(0, N)
    v = tl.load(x + r[:, None] * N + c[None, :])
    if OP == "max":
        a, i = tl.max(v, 1, return_indices=True, return_indices_tie_break_left=LEFT)
    elif OP == "min":
        a, i = tl.min(v, 1, return_indices=True, return_indices_tie_break_left=LEFT)
    else:
        a, i = tl.reduce((v, tl.broadcast_to(c[None, :], (8, N))), 1, first_greater)
    tl.store(values + r, a)
    tl.store(indices + r, i)
