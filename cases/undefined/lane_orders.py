"""More of lanes whose order Triton leaves open: asserts about them, and operations that need not agree."""

import triton
import triton.language as tl


@triton.jit
def holds_as_written(x, y, out):
    lanes = tl.arange(0, 16)
    both = tl.cat(tl.load(x + tl.arange(0, 8)), tl.load(y + tl.arange(0, 8)), can_reorder=True)
    tl.device_assert(tl.sum(tl.where(lanes == 0, both, 0), 0) == 0)
    tl.store(out, 1)


@triton.jit
def fails_as_written(x, y, out):
    lanes = tl.arange(0, 16)
    both = tl.cat(tl.load(x + tl.arange(0, 8)), tl.load(y + tl.arange(0, 8)), can_reorder=True)
    tl.device_assert(tl.sum(tl.where(lanes == 0, both, 0), 0) != 0)
    tl.store(out, 1)


@triton.jit
def shapes_apart(x, y, out):
    lanes = tl.arange(0, 16)
    rows = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    flat = tl.reshape(tl.load(x + rows), [16], can_reorder=True)
    same = tl.reshape(tl.load(x + lanes), [16], can_reorder=True)
    tl.store(out, tl.sum(flat * same, 0))
    tl.store(out + 1, tl.sum(flat + same, 0))
