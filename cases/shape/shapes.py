"""Operations that move lanes and change none."""

import triton
import triton.language as tl


@triton.jit
def reshape_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    values = tl.load(x + tl.arange(0, M * N))
    values = tl.reshape(values, (M, N))
    tl.store(out + tl.arange(0, N)[None, :] * M + tl.arange(0, M)[:, None], values)


@triton.jit
def trans_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    values = tl.load(x + rows[:, None] * N + columns[None, :])
    tl.store(out + columns[:, None] * M + rows[None, :], tl.trans(values))


@triton.jit
def permute_kernel(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, A)[:, None, None]
    j = tl.arange(0, B)[None, :, None]
    k = tl.arange(0, C)[None, None, :]
    values = tl.load(x + i * (B * C) + j * C + k)
    moved = tl.permute(values, (2, 0, 1))
    a = tl.arange(0, C)[:, None, None]
    b = tl.arange(0, A)[None, :, None]
    c = tl.arange(0, B)[None, None, :]
    tl.store(out + a * (A * B) + b * B + c, moved)


@triton.jit
def join_split_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    b = tl.load(y + offsets)
    joined = tl.join(a, b)
    tl.store(out + offsets[:, None] * 2 + tl.arange(0, 2)[None, :], joined)
    left, right = tl.split(joined)
    tl.store(out + 2 * BLOCK + offsets, left - right)


@triton.jit
def interleave_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.interleave(tl.load(x + offsets), tl.load(y + offsets))
    tl.store(out + tl.arange(0, 2 * BLOCK), values)


@triton.jit
def broadcast_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    row = tl.load(x + tl.arange(0, N))
    block = tl.broadcast_to(row[None, :], (M, N))
    tl.store(out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], block)


@triton.jit
def expand_dims_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    column = tl.expand_dims(tl.load(x + tl.arange(0, M)), 1)
    row = tl.expand_dims(tl.load(x + tl.arange(0, N)), 0)
    tl.store(out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], column * 10 + row)


@triton.jit
def ravel_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    values = tl.load(x + tl.arange(0, M)[:, None] + tl.arange(0, N)[None, :] * M)
    tl.store(out + tl.arange(0, M * N), tl.ravel(values))


@triton.jit
def flip_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.flip(tl.load(x + offsets), 0))


@triton.jit
def gather_kernel(x, index, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.gather(tl.load(x + offsets), tl.load(index + offsets), 0))


@triton.jit
def zeros_like_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets)
    tl.store(out + offsets, tl.zeros_like(values) + values)
