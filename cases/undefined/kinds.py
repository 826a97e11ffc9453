"""A kernel for every kind of undefined behaviour that has no place elsewhere in the corpus."""

import triton
import triton.language as tl


@triton.jit
def misaligned(x, out, zero):
    halves = x.to(tl.pointer_type(tl.int16))
    tl.store(out, tl.load((halves + 1).to(tl.pointer_type(tl.int32))))


@triton.jit
def masked_off_index(x, out, zero):
    lanes = tl.arange(0, 8)
    index = tl.load(x + lanes, mask=lanes < 4)
    tl.store(out + index, 1)


@triton.jit
def division_by_zero(x, out, zero):
    lanes = tl.arange(0, 8)
    tl.store(out + lanes, lanes // zero)


@triton.jit
def remainder_by_zero(x, out, zero):
    tl.store(out, tl.load(x + 1) % zero)


@triton.jit
def false_multiple(x, out, zero):
    tl.store(out, tl.multiple_of(zero + 4, 8))


@triton.jit
def false_contiguity(x, out, zero):
    lanes = tl.arange(0, 8)
    tl.store(out + lanes, tl.load(x + tl.max_contiguous(lanes * 2 % 8, 8)))


@triton.jit
def index_out_of_range(x, out, zero):
    lanes = tl.arange(0, 8)
    tl.store(out + lanes, tl.gather(tl.load(x + lanes), lanes + 4 + zero, 0))


@triton.jit
def step_of_zero(x, out, zero):
    for i in range(0, 4, zero):
        tl.store(out, i)


@triton.jit
def unordered_read(x, out, zero):
    lanes = tl.arange(0, 8)
    tl.store(out + lanes, lanes)
    tl.store(x + lanes, tl.load(out + 7 - lanes))


@triton.jit
def race_of_a_read(x, out, zero):
    pid = tl.program_id(0)
    tl.store(x + pid, 7)
    tl.store(out + pid, tl.load(x + 1 - pid))


@triton.jit
def ordered_by_a_barrier(x, out, zero):
    lanes = tl.arange(0, 8)
    tl.store(out + lanes, lanes * 3)
    tl.debug_barrier()
    back = tl.load(out + 7 - lanes)
    tl.debug_barrier()
    tl.store(out + lanes, back)


@triton.jit
def long_shift(x, out, zero):
    lanes = tl.arange(0, 8)
    tl.store(out + lanes, 1 << (lanes * 5))


@triton.jit
def cast_out_of_range(x, out, zero):
    lanes = tl.arange(0, 8)
    big = lanes.to(tl.float32) * 1e9
    tl.store(out + lanes, big.to(tl.int32))


@triton.jit
def masked_off_value(x, out, zero):
    lanes = tl.arange(0, 8)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < 4))
