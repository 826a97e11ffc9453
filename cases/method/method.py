"""Methods of a block that are functions of tl, one kernel for each that not every Triton has."""

import triton
import triton.language as tl


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def reduce_kernel(x, out, F: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    values = tl.load(x + rows[:, None] * N + tl.arange(0, N)[None, :])
    if F == "sum":
        r = values.sum(1)
    elif F == "max":
        r = values.max(1)
    elif F == "min":
        r = values.min(axis=1)
    elif F == "argmax":
        r = values.argmax(1)
    elif F == "argmin":
        r = values.argmin(axis=1)
    elif F == "xor_sum":
        r = values.xor_sum(1)
    else:
        r = values.reduce(1, add)
    tl.store(out + rows, r)


@triton.jit
def scan_kernel(x, out, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    values = tl.load(x + i)
    if F == "cumsum":
        r = values.cumsum()
    elif F == "cumprod":
        r = values.cumprod(0)
    elif F == "associative_scan":
        r = values.associative_scan(0, add)
    else:
        r = values.flip(0)
    tl.store(out + i, r)


@triton.jit
def reduce_or_kernel(x, out, N: tl.constexpr):
    tl.store(out, tl.load(x + tl.arange(0, N)).reduce_or(0))


@triton.jit
def topk_kernel(x, out, N: tl.constexpr):
    tl.store(out + tl.arange(0, 4), tl.topk(tl.load(x + tl.arange(0, N)), 4))


@triton.jit
def gather_kernel(x, index, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).gather(tl.load(index + i), 0))


@triton.jit
def histogram_kernel(x, out, N: tl.constexpr, BINS: tl.constexpr):
    tl.store(out + tl.arange(0, BINS), tl.load(x + tl.arange(0, N)).histogram(BINS))


@triton.jit
def softmax_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).softmax())


@triton.jit
def cast_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).cast(out.dtype.element_ty))


@triton.jit
def cast_function_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.cast(tl.load(x + i), out.dtype.element_ty))


@triton.jit
def store_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    (out + i).store(tl.load(x + i))


@triton.jit
def view_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M * N)
    r = tl.load(x + i).view(M, N)
    tl.store(out + tl.arange(0, M), tl.max(r, 1))


@triton.jit
def item_kernel(x, out):
    tl.store(out, tl.load(x + tl.arange(0, 1)).item())


@triton.jit
def add_function_kernel(x, y, out, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    if F == "add":
        r = tl.add(a, b)
    elif F == "sub":
        r = tl.sub(a, b)
    else:
        r = tl.mul(a, b)
    tl.store(out + i, r)


@triton.jit
def hints_kernel(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.static_assert(N > 1, "a block of several")
    i = tl.max_contiguous(tl.multiple_of(i, N), N)
    values = tl.max_constancy(tl.load(x + i), 1)
    tl.debug_barrier()
    tl.assume(n >= 0)
    tl.store(out + i, values)


@triton.jit
def atomic_load_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    (out + i).atomic_store((x + i).atomic_load())
