"""A kernel for every way a program can have no answer, and the ways a launch is refused that the corpus does not show."""

import triton
import triton.language as tl


@triton.jit
def out_of_bounds(x, empty, out, zero):
    tl.store(out + zero + 4 + tl.arange(0, 8), 1)


@triton.jit
def misaligned(x, empty, out, zero):
    bytes_of_x = x.to(tl.pointer_type(tl.int8))
    tl.store(out, tl.load((bytes_of_x + 2).to(tl.pointer_type(tl.int32))))


@triton.jit
def uninitialised_read(x, empty, out, zero):
    tl.store(out, tl.load(empty))


@triton.jit
def poison_use(x, empty, out, zero):
    index = tl.load(x + tl.arange(0, 8), mask=tl.arange(0, 8) < 4)
    tl.store(out + index, 1)


@triton.jit
def race(x, empty, out, zero):
    tl.store(out, tl.program_id(0))


@triton.jit
def conflicting_lanes(x, empty, out, zero):
    tl.store(out + tl.arange(0, 8) // 2, tl.arange(0, 8))


@triton.jit
def unordered_read(x, empty, out, zero):
    lanes = tl.arange(0, 8)
    tl.store(out + lanes, lanes)
    tl.store(x + lanes, tl.load(out + 7 - lanes))


@triton.jit
def unordered_write(x, empty, out, zero):
    lanes = tl.arange(0, 8)
    tl.store(x + 7 - lanes, tl.load(x + lanes))


@triton.jit
def division_by_zero(x, empty, out, zero):
    tl.store(out + tl.arange(0, 8), tl.arange(0, 8) // zero)


@triton.jit
def false_assume(x, empty, out, zero):
    tl.assume(zero > 0)
    tl.store(out, zero)


@triton.jit
def false_promise(x, empty, out, zero):
    tl.store(out, tl.multiple_of(zero + 4, 8))


@triton.jit
def index_out_of_range(x, empty, out, zero):
    values = tl.load(x + tl.arange(0, 8))
    tl.store(out + tl.arange(0, 8), tl.gather(values, tl.arange(0, 8) + 4 + zero, 0))


@triton.jit
def loop_step(x, empty, out, zero):
    for i in range(0, 8, zero):
        tl.store(out + i, i)


@triton.jit
def endless_wait(x, empty, out, zero):
    while tl.atomic_add(out, 0) == 0:
        pass


@triton.jit
def assertion_failed(x, empty, out, zero):
    tl.device_assert(zero > 0, "zero is not above zero")
    tl.store(out, zero)


@triton.jit
def bad_call(x, empty, out, zero):
    tl.store(out, tl.load(x, masks=zero > 0))


@triton.jit
def descriptor_demand(x, empty, out, zero):
    source = tl.make_tensor_descriptor(x, [8], [1], [4])
    tl.store(out + tl.arange(0, 4), source.load([zero + 1]))


@triton.jit
def overflow_check(x, empty, out, zero):
    lanes = tl.arange(0, 8)
    first = (lanes < 4) & (tl.program_id(0) == 0)
    tl.store(out + lanes, tl.load(x + lanes, mask=first) + 1, mask=first)
