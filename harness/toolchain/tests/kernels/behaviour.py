import ctypes
import os

import triton
import triton.language as tl


@triton.jit
def add_one(ptr, stride_0, stride_1, rows: tl.constexpr, columns: tl.constexpr):
    at = tl.arange(0, rows)[:, None] * stride_0 + tl.arange(0, columns)[None, :] * stride_1
    tl.store(ptr + at, tl.load(ptr + at) + 1)


@triton.jit
def copy_then_double(out, x, n: tl.constexpr):
    at = tl.arange(0, n)
    tl.store(out + at, tl.load(x + at) * 2)


@triton.jit
def add(out, x, number, n: tl.constexpr):
    at = tl.arange(0, n)
    tl.store(out + at, tl.load(x + at) + number)


@triton.jit
def follow(table, out, n: tl.constexpr):
    at = tl.arange(0, n)
    x = tl.load(table).to(tl.pointer_type(tl.int32))
    tl.store(out + at, tl.load(x + at))


@triton.jit
def put_address(table, x):
    tl.store(table + 1, (x + 3).to(tl.int64))


@triton.jit
def beyond(x, n: tl.constexpr):
    tl.store(x + tl.arange(0, n), 7)


@triton.jit
def increase(x):
    at = tl.arange(0, 4)
    tl.store(x + at, tl.load(x + at) + 1)


@triton.jit
def empty_kernel(x):
    pass


@triton.jit
def hang(x):
    while True:
        pass


@triton.jit
def eat(x):
    room = bytearray(1 << 40)
    tl.store(x, room[0])


@triton.jit
def fail(x):
    inner(x)


@triton.jit
def inner(x):
    tl.static_assert(False, "as asked")


@triton.jit
def leave(x):
    os._exit(7)


@triton.jit
def fault(x):
    ctypes.string_at(0)


@triton.jit
def say(x):
    os.write(1, b"raw ")
    print("cooked")
    tl.device_print("x", tl.load(x))


@triton.jit
def say_much(x):
    print("y" * 200000)


@triton.jit
def add_one_tile(tile, row, column):
    tile.store([row, column], tile.load([row, column]) + 1)
