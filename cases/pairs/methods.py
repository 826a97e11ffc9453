"""Methods of a tensor, and functions, that move lanes: one branch for each."""

import triton
import triton.language as tl


@triton.jit
def moved(x, y, out, OP: tl.constexpr):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    b = tl.load(y + i)
    square = tl.load(x + tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :])
    if OP == "expand_dims":
        r = tl.reshape(a.expand_dims(1), [16])
    elif OP == "permute":
        r = tl.reshape(square.permute(1, 0), [16])
    elif OP == "trans":
        r = tl.reshape(square.trans(), [16])
    elif OP == "T":
        r = tl.reshape(square.T, [16])
    elif OP == "ravel":
        r = square.trans().ravel()
    elif OP == "reshape":
        r = a.reshape(2, 8).trans().reshape(16)
    elif OP == "split":
        left, right = a.reshape(8, 2).split()
        r = tl.reshape(tl.join(right, left), [16])
    elif OP == "flip":
        r = a.flip(0)
    elif OP == "gather":
        r = a.gather((i * 5 + 3) % 16, 0)
    elif OP == "gather_function":
        r = tl.gather(a, (i * 7 + 1) % 16, 0)
    elif OP == "cat":
        left, right = tl.split(tl.reshape(a, [8, 2]))
        r = tl.cat(left, right)
    elif OP == "to_tensor":
        r = tl.to_tensor(a)
    elif OP == "expect_zero":
        r = tl.where(i < 8, tl.expect_zero(a, i >= 16), b)
    elif OP == "multiple_of":
        r = tl.multiple_of(a, 1)
    elif OP == "max_contiguous":
        r = tl.max_contiguous(a, 1)
    elif OP == "max_constancy":
        r = tl.max_constancy(a, 1)
    elif OP == "where":
        r = tl.where(i % 3 == 0, a, b)
    elif OP == "join":
        left, right = tl.split(tl.join(a, b))
        r = tl.where(i % 2 == 0, left, right)
    elif OP == "interleave":
        left, right = tl.split(tl.reshape(a, [8, 2]))
        r = tl.interleave(right, left)
    elif OP == "broadcast":
        row, _ = tl.broadcast(tl.expand_dims(a, 0), tl.expand_dims(b, 0))
        r = tl.reshape(row, [16])
    elif OP == "unsqueeze":
        r = tl.squeeze(tl.unsqueeze(a, 0), 0)
    elif OP == "indexed":
        r = tl.reshape(a[None, :], [16])
    elif OP == "flip_function":
        r = tl.flip(a, 0)
    elif OP == "trans_function":
        r = tl.ravel(tl.trans(square))
    elif OP == "permute_function":
        r = tl.reshape(tl.permute(square, [1, 0]), [16])
    elif OP == "full":
        r = tl.full([16], tl.load(x + 3), a.dtype)
    elif OP == "zeros":
        r = tl.where(i < 4, a, tl.zeros([16], a.dtype))
    elif OP == "zeros_like":
        r = tl.where(i < 4, a, tl.zeros_like(b))
    elif OP == "store":
        (out + 16 + i).store(b)
        r = a
    tl.store(out + i, r)


@triton.jit
def viewed(x, out, OP: tl.constexpr):
    # A view has its lanes in any order: here they are all equal.
    i = tl.arange(0, 16)
    a = tl.load(x + i * 0)
    if OP == "method":
        r = a.view(4, 4)
    else:
        r = tl.view(a, [4, 4])
    tl.store(out + tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :], r)


@triton.jit
def cast(x, out, OP: tl.constexpr, TO: tl.constexpr):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    if OP == "method":
        r = a.cast(TO)
    else:
        r = tl.cast(a, TO)
    tl.store(out + i, r)


@triton.jit
def printed(x, out):
    i = tl.arange(0, 4)
    a = tl.load(x + i)
    tl.device_print("a", a)
    tl.store(out + i, a)
