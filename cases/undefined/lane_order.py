"""Lanes whose order Triton leaves open: `cat` and `reshape` with `can_reorder=True`, and `view`."""

import triton
import triton.language as tl


@triton.jit
def cat_stored(x, y, out):
    lanes = tl.arange(0, 8)
    both = tl.cat(tl.load(x + lanes), tl.load(y + lanes), can_reorder=True)
    tl.store(out + tl.arange(0, 16), both)
    # The order of these is as written.
    tl.store(out + 16 + lanes, lanes)


@triton.jit
def view_stored(x, y, out):
    rows = tl.arange(0, 4)[:, None]
    columns = tl.arange(0, 4)[None, :]
    square = (tl.load(x + tl.arange(0, 16)) * 2).view(4, 4)
    tl.store(out + rows * 4 + columns, square)
    tl.store(out + 16, 1)


@triton.jit
def reshape_stored(x, y, out):
    rows = tl.arange(0, 4)[:, None]
    columns = tl.arange(0, 4)[None, :]
    square = tl.load(x + rows * 4 + columns)
    tl.store(out + tl.arange(0, 16), tl.reshape(square, [16], can_reorder=True))
    tl.store(out + 16, 1)


@triton.jit
def rows_summed(x, y, out):
    square = tl.reshape(tl.load(x + tl.arange(0, 16)), [4, 4], can_reorder=True)
    tl.store(out + tl.arange(0, 4), tl.sum(square, 1))
    tl.store(out + 16, tl.sum(tl.sum(square, 1), 0))


@triton.jit
def cat_summed(x, y, out):
    lanes = tl.arange(0, 8)
    both = tl.cat(tl.load(x + lanes), tl.load(y + lanes), can_reorder=True)
    tl.store(out, tl.sum(both * both, 0))
    tl.store(out + 1, tl.max(both, 0))


@triton.jit
def cat_summed_as_floats(x, y, out):
    # Another order of lanes is another order of a sum, which rounds otherwise: that is no other answer.
    lanes = tl.arange(0, 8)
    both = tl.cat(tl.load(x + lanes), tl.load(y + lanes), can_reorder=True)
    tl.store(out.to(tl.pointer_type(tl.float32)), tl.sum(both.to(tl.float32) * 0.1, 0))


@triton.jit
def cat_scattered(x, y, out):
    lanes = tl.arange(0, 8)
    places = tl.cat(lanes, lanes + 8, can_reorder=True)
    tl.store(out + places, tl.load(x + places) + places)


@triton.jit
def view_back(x, y, out):
    lanes = tl.arange(0, 16)
    tl.store(out + lanes, tl.load(x + lanes) * 0 + tl.view(tl.full([4, 4], 7, tl.int32), [16]))


@triton.jit
def view_only(x, y, out):
    rows = tl.arange(0, 4)[:, None]
    columns = tl.arange(0, 4)[None, :]
    tl.store(out + rows * 4 + columns, tl.view(tl.load(x + tl.arange(0, 16)), [4, 4]))
