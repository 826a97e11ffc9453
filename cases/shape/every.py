"""Operations that move lanes of a block of any dtype, and those that make one."""

import triton
import triton.language as tl


@triton.jit
def move_kernel(x, y, out, OP: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    a = tl.load(x + rows[:, None] * N + columns[None, :])
    b = tl.load(y + rows[:, None] * N + columns[None, :])
    flat = tl.arange(0, M * N)
    if OP == "trans":
        tl.store(out + columns[:, None] * M + rows[None, :], tl.trans(a))
    elif OP == "trans_dims":
        tl.store(out + columns[:, None] * M + rows[None, :], tl.trans(a, (1, 0)))
    elif OP == "trans_method":
        tl.store(out + columns[:, None] * M + rows[None, :], a.trans())
    elif OP == "T":
        tl.store(out + columns[:, None] * M + rows[None, :], a.T)
    elif OP == "permute":
        tl.store(out + columns[:, None] * M + rows[None, :], tl.permute(a, (1, 0)))
    elif OP == "permute_method":
        tl.store(out + columns[:, None] * M + rows[None, :], a.permute(1, 0))
    elif OP == "reshape":
        tl.store(out + flat, tl.reshape(a, (M * N,)))
    elif OP == "reshape_method":
        tl.store(out + columns[:, None] * M + rows[None, :], a.reshape(N, M))
    elif OP == "ravel":
        tl.store(out + flat, tl.ravel(a))
    elif OP == "ravel_method":
        tl.store(out + flat, a.ravel())
    elif OP == "expand_dims":
        block = tl.expand_dims(a, 1)
        tl.store(
            out + rows[:, None, None] * N + columns[None, None, :] + tl.arange(0, 1)[None, :, None], block
        )
    elif OP == "expand_dims_method":
        block = a.expand_dims(0)
        tl.store(out + rows[None, :, None] * N + columns[None, None, :], block)
    elif OP == "none_index":
        tl.store(out + rows[:, None, None] * N + columns[None, None, :], a[:, None, :])
    elif OP == "broadcast_to":
        row = tl.load(x + columns)
        tl.store(out + rows[:, None] * N + columns[None, :], tl.broadcast_to(row[None, :], (M, N)))
    elif OP == "broadcast_to_method":
        column = tl.load(x + rows)
        tl.store(out + rows[:, None] * N + columns[None, :], column[:, None].broadcast_to(M, N))
    elif OP == "broadcast":
        column = tl.load(x + rows)
        left, right = tl.broadcast(column[:, None], b)
        tl.store(out + rows[:, None] * N + columns[None, :], tl.where(columns[None, :] % 2 == 0, left, right))
    elif OP == "join":
        place = rows[:, None, None] * (2 * N) + columns[None, :, None] * 2 + tl.arange(0, 2)[None, None, :]
        tl.store(out + place, tl.join(a, b))
    elif OP == "split":
        left, right = tl.split(tl.join(a, b))
        tl.store(out + rows[:, None] * N + columns[None, :], right)
        tl.store(out + M * N + rows[:, None] * N + columns[None, :], left)
    elif OP == "split_method":
        left, right = tl.join(a, b).split()
        tl.store(out + rows[:, None] * N + columns[None, :], right)
        tl.store(out + M * N + rows[:, None] * N + columns[None, :], left)
    elif OP == "interleave":
        wide = tl.arange(0, 2 * N)
        tl.store(out + rows[:, None] * (2 * N) + wide[None, :], tl.interleave(a, b))
    elif OP == "cat":
        one = tl.load(x + columns)
        two = tl.load(y + columns)
        tl.store(out + tl.arange(0, 2 * N), tl.cat(one, two))
    elif OP == "flip":
        tl.store(out + rows[:, None] * N + columns[None, :], tl.flip(a, 1))
    elif OP == "flip_last":
        tl.store(out + rows[:, None] * N + columns[None, :], tl.flip(a))
    else:
        tl.store(out + rows[:, None] * N + columns[None, :], tl.flip(a, 0))


@triton.jit
def squeeze_kernel(x, out, N: tl.constexpr):
    columns = tl.arange(0, N)
    tl.store(out + columns, tl.squeeze(tl.load(x + columns)[None, :], 0))


@triton.jit
def unsqueeze_kernel(x, out, N: tl.constexpr):
    columns = tl.arange(0, N)
    tl.store(out + columns[None, :], tl.unsqueeze(tl.load(x + columns), 0))


@triton.jit
def gather_kernel(x, index, out, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + offsets, tl.gather(tl.load(x + offsets), tl.load(index + offsets), AXIS))


@triton.jit
def zeros_kernel(x, out, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    if F == "zeros":
        r = tl.zeros((N,), x.dtype.element_ty)
    elif F == "zeros_like":
        r = tl.zeros_like(tl.load(x + i))
    else:
        r = tl.full((N,), tl.load(x), x.dtype.element_ty)
    tl.store(out + i, r)


@triton.jit
def full_kernel(out, VALUE: tl.constexpr, N: tl.constexpr):
    tl.store(out + tl.arange(0, N), tl.full((N,), VALUE, out.dtype.element_ty))


@triton.jit
def scalar_kernel(x, out):
    a = tl.load(x)
    b = tl.load(x + 1)
    tl.store(out, b)
    tl.store(out + 1, a)
