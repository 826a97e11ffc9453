import os
import signal

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x + y, mask=at < n)


@triton.jit
def fill(ptr, value, BLOCK: tl.constexpr):
    tl.store(ptr + tl.arange(0, BLOCK), value)


@triton.jit
def dies(ptr, BLOCK: tl.constexpr):
    tl.store(ptr + tl.arange(0, BLOCK), 1.0)
    os.kill(os.getpid(), signal.SIGKILL)


@triton.jit
def through(table, out, BLOCK: tl.constexpr):
    ptr = tl.load(table).to(tl.pointer_type(tl.float32))
    tl.store(out + tl.arange(0, BLOCK), tl.load(ptr + tl.arange(0, BLOCK)))


@triton.jit
def double(x):
    return x * 2


@triton.jit
def apply(ptr, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    at = ptr + tl.arange(0, BLOCK)
    tl.store(at, FUNCTION(tl.load(at)))


@triton.jit
def pair(both, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(both[0] + at, tl.load(both[0] + at) + both[1])


@triton.jit
def fails(ptr, BLOCK: tl.constexpr):
    tl.store(ptr + tl.arange(0, 3), 1.0)


@triton.jit
def optional(ptr, other, FLAG: tl.constexpr, BLOCK: tl.constexpr):
    if other is None and FLAG:
        tl.store(ptr + tl.arange(0, BLOCK), 1.0)


@triton.heuristics({"BLOCK": lambda args: 32})
@triton.jit(do_not_specialize=["value"])
def single(ptr, value, BLOCK: tl.constexpr):
    tl.store(ptr + tl.arange(0, BLOCK), value)
