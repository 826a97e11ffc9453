"""Pointers as values: computed, compared, loaded from memory."""

import triton
import triton.language as tl


@triton.jit
def load_through_kernel(pointers, out, N: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    for i in tl.static_range(N):
        pointer = tl.load(pointers + i).to(tl.pointer_type(tl.float32))
        tl.store(out + i * BLOCK + offsets, tl.load(pointer + offsets))


@triton.jit
def store_through_kernel(pointers, value, BLOCK: tl.constexpr):
    pointer = tl.load(pointers + tl.program_id(0)).to(tl.pointer_type(tl.int32))
    offsets = tl.arange(0, BLOCK)
    tl.store(pointer + offsets, offsets + value)


@triton.jit
def carried_pointer_kernel(x, out, steps, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    pointers = x + offsets
    total = tl.load(pointers)
    for _ in range(1, steps):
        pointers += BLOCK
        total += tl.load(pointers)
    tl.store(out + offsets, total)


@triton.jit
def negative_offset_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    last = x + BLOCK - 1
    tl.store(out + offsets, tl.load(last - offsets))


@triton.jit
def chosen_pointer_kernel(x, y, out, flag, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    if flag > 0:
        source = x
    else:
        source = y
    tl.store(out + offsets, tl.load(source + offsets))


@triton.jit
def where_pointer_kernel(x, y, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    pointers = tl.where(offsets % 2 == 0, x + offsets, y + offsets)
    tl.store(out + offsets, tl.load(pointers))


@triton.jit
def cast_pointer_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    bits = x.to(tl.pointer_type(tl.int32), bitcast=True)
    tl.store(out + offsets, tl.load(bits + offsets))


@triton.jit
def gather_kernel(x, index, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + tl.load(index + offsets)))


@triton.jit
def wide_offset_kernel(x, out, base, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK).to(tl.int64)
    tl.store(out + offsets, tl.load(x + (offsets + base) - base))


@triton.jit
def past_the_end_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets))


@triton.jit
def conflicting_store_kernel(out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets % 2, offsets)


@triton.jit
def conflicting_programs_kernel(out):
    tl.store(out, tl.program_id(0))
