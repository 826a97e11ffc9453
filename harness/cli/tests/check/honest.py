"""Kernels with one fault each, which a launch with other arguments would hide."""
import triton
import triton.language as tl


@triton.jit
def store_past_end(x_ptr, state_ptr, n, rate, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    state = tl.load(state_ptr + at, mask=keep, other=0.0) * rate + tl.load(x_ptr + at, mask=keep, other=0.0)
    tl.store(state_ptr + at, state)


@triton.jit
def one_too_many(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at <= n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=keep, other=0.0) + 1.0, mask=keep)


@triton.jit
def mask_stands_still(x_ptr, out_ptr, rows, cols, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    ptrs = x_ptr + row * stride + at
    total = 0.0
    for _ in range(0, tl.cdiv(cols, BLOCK)):
        total += tl.sum(tl.load(ptrs, mask=at < cols, other=0.0), axis=0)
        ptrs += BLOCK
    tl.store(out_ptr + row, total, mask=row < rows)


@triton.jit
def no_other(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    biggest = tl.max(tl.load(x_ptr + at, mask=at < n), axis=0)
    tl.store(out_ptr, biggest)


@triton.jit
def neighbours(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n - 1
    tl.store(x_ptr + at, tl.load(x_ptr + at + 1, mask=keep, other=0.0), mask=keep)


@triton.jit
def one_row_for_all(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + row * n + at, mask=at < n, other=0.0), mask=at < n)


@triton.jit
def no_such_function(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.softsign(tl.load(x_ptr + at, mask=at < n, other=0.0)), mask=at < n)


@triton.jit
def five_blocks(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, 5 * BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at))


@triton.jit
def no_mask(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at) * 2.0)


@triton.jit
def put(x_ptr, to_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    to = tl.load(to_ptr + at, mask=at < n, other=0)
    tl.store(out_ptr + to, tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)


@triton.jit
def later_blocks(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = (tl.program_id(0) + 1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)


@triton.jit
def block_pointer(x_ptr, out_ptr, rows, cols, stride, ROWS: tl.constexpr, COLS: tl.constexpr):
    at = (tl.program_id(0) * ROWS, 0)
    x = tl.make_block_ptr(x_ptr, (rows, cols), (stride, 1), at, (ROWS, COLS), (1, 0))
    out = tl.make_block_ptr(out_ptr, (rows, cols), (stride, 1), at, (ROWS, COLS), (1, 0))
    tl.store(out, tl.load(x, boundary_check=(0, 1)), boundary_check=(0,))


@triton.jit
def by_flag(a, b, n, BLOCK: tl.constexpr, FORTH: tl.constexpr):
    source = a if FORTH else b
    target = b if FORTH else a
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + at, tl.load(source + at, mask=at < n, other=0.0), mask=at <= n)
