"""Descriptors: what is loaded and stored through them, and what they say of themselves."""

import triton
import triton.language as tl


@triton.jit
def through(x, out, OP: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [16, 32], [32, 1], [8, 32])
    e = tl.make_tensor_descriptor(out, [16, 32], [32, 1], [8, 32])
    if OP == "functions":
        tl.store_tensor_descriptor(e, [8, 0], tl.load_tensor_descriptor(d, [0, 0]))
    elif OP == "methods":
        e.store([0, 0], d.load([8, 0]))
    elif OP == "block_shape":
        block = tl.full([d.block_shape[0], d.block_shape[1]], 1, tl.int32)
        e.store([0, 0], d.load([tl.sum(tl.sum(block, 1), 0) // 32, 0]))
    elif OP == "block_type":
        block = d.load([0, 0])
        tl.static_assert(block.type == d.block_type)
        e.store([0, 0], block)
    elif OP == "dtype":
        tl.static_assert(d.dtype == x.dtype.element_ty)
        e.store([0, 0], d.load([0, 0]).to(d.dtype))


@triton.jit
def rows(x, out, OP: tl.constexpr):
    i = tl.arange(0, 16)
    d = tl.make_tensor_descriptor(x, [16, 32], [32, 1], [1, 32])
    e = tl.make_tensor_descriptor(out, [16, 32], [32, 1], [1, 32])
    block = d.gather((i * 3 + 1) % 16, 0)
    if OP == "gather":
        tl.store(out + i[:, None] * 32 + tl.arange(0, 32)[None, :], block)
    else:
        e.scatter(block, (i * 5 + 2) % 16, 0)
