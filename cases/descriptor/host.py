"""Tensor descriptors that the host makes."""

import triton
import triton.language as tl


@triton.jit
def copy_1d_kernel(source, target, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK
    target.store([at], source.load([at]))


@triton.jit
def copy_2d_kernel(source, target, BM: tl.constexpr, BN: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    target.store([row, column], source.load([row, column]))


@triton.jit
def copy_3d_kernel(source, target):
    at = tl.program_id(0) * source.block_shape[0]
    target.store([at, 0, 0], source.load([at, 0, 0]))


@triton.jit
def copy_4d_kernel(source, target):
    at = tl.program_id(0) * source.block_shape[0]
    target.store([at, 0, 0, 0], source.load([at, 0, 0, 0]))


@triton.jit
def copy_5d_kernel(source, target):
    at = tl.program_id(0) * source.block_shape[0]
    target.store([at, 0, 0, 0, 0], source.load([at, 0, 0, 0, 0]))


@triton.jit
def add_one_kernel(desc):
    at = tl.program_id(0) * desc.block_shape[0]
    block = tl.load_tensor_descriptor(desc, [at, 0])
    tl.store_tensor_descriptor(desc, [at, 0], block + 1)


@triton.jit
def describe_kernel(desc, out):
    tl.store(out, desc.shape[0])
    tl.store(out + 1, desc.shape[1])
    tl.store(out + 2, desc.strides[0])
    tl.store(out + 3, desc.strides[1])
    tl.store(out + 4, desc.block_shape[0])
    tl.store(out + 5, desc.block_shape[1])
    tl.store(out + 6, desc.dtype == tl.float16)


@triton.jit
def load_kernel(desc, out, row, column, BM: tl.constexpr, BN: tl.constexpr):
    rows, columns = tl.arange(0, BM), tl.arange(0, BN)
    tl.store(out + rows[:, None] * BN + columns[None, :], desc.load([row, column]))


@triton.jit
def fill_kernel(desc, value, BM: tl.constexpr, BN: tl.constexpr):
    desc.store([0, 0], tl.full((BM, BN), 0, desc.dtype) + value.to(desc.dtype))


@triton.jit
def gather_kernel(desc, rows, out, column, R: tl.constexpr, C: tl.constexpr):
    ids = tl.load(rows + tl.arange(0, R))
    block = desc.gather(ids, column)
    i, j = tl.arange(0, R), tl.arange(0, C)
    tl.store(out + i[:, None] * C + j[None, :], block)


@triton.jit
def scatter_kernel(desc, rows, x, column, R: tl.constexpr, C: tl.constexpr):
    ids = tl.load(rows + tl.arange(0, R))
    i, j = tl.arange(0, R), tl.arange(0, C)
    desc.scatter(tl.load(x + i[:, None] * C + j[None, :]), ids, column)


@triton.jit
def atomic_kernel(desc, x, row, OP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows, columns = tl.arange(0, BM), tl.arange(0, BN)
    value = tl.load(x + rows[:, None] * BN + columns[None, :])
    if OP == "add":
        desc.atomic_add([row, 0], value)
    elif OP == "min":
        desc.atomic_min([row, 0], value)
    elif OP == "max":
        desc.atomic_max([row, 0], value)
    elif OP == "and":
        desc.atomic_and([row, 0], value)
    elif OP == "or":
        desc.atomic_or([row, 0], value)
    elif OP == "xor":
        desc.atomic_xor([row, 0], value)


@triton.jit
def matmul_kernel(a, b, c, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        total += tl.dot(a.load([row, start]), b.load([column, start]).T)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def product(a, b, row, column, start):
    return tl.dot(a.load([row, start]), b.load([column, start]).T)


@triton.jit
def persistent_matmul_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    columns = tl.cdiv(n, BN)
    tiles = tl.cdiv(m, BM) * columns
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0)):
        row, column = (tile // columns) * BM, (tile % columns) * BN
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for start in range(0, k, BK):
            total += product(a, b, row, column, start)
        c.store([row, column], total.to(c.dtype))
