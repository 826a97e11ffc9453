import triton
import triton.language as tl


@triton.jit
def softmax_kernel(out_ptr, x_ptr, n_cols, x_stride, out_stride, FILL: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * x_stride + cols, mask=mask, other=FILL)
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * out_stride + cols, numerator / tl.sum(numerator, axis=0), mask=mask)


def softmax(x, fill=-float("inf")):
    out = x.new_empty(x.shape)
    block = triton.next_power_of_2(x.shape[1])
    softmax_kernel[(x.shape[0],)](out, x, x.shape[1], x.stride(0), out.stride(0), FILL=fill, BLOCK=block)
    return out


@triton.jit
def sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], out_ptr.dtype.element_ty)
    for begin in range(0, n, BLOCK):
        x = tl.load(x_ptr + begin + at, mask=begin + at < n, other=0)
        total = (total + x).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + at, total)


def partial_sums(x):
    out = x.new_empty((16,))
    sum_kernel[(1,)](x, out, x.numel(), BLOCK=16)
    return out


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x * factor, mask=at < n)


def scale_twice(x, first, second):
    half, out = x.new_empty(x.shape), x.new_empty(x.shape)
    grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
    scale_kernel[grid](x, half, x.numel(), first, BLOCK=16)
    scale_kernel[grid](half, out, x.numel(), second, BLOCK=16)
    return out


def scale_half(x):
    out = x.new_empty(x.shape)
    scale_kernel[(1,)](x, out, x.numel() // 2, 2.0, BLOCK=64)
    return out


@triton.jit
def copy_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + at, mask=at < n_cols)
    tl.store(out_ptr + row * n_cols + at, x, mask=at < n_cols)


def copy_dense(x):
    out = x.new_empty(x.shape)
    copy_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=32)
    return out


@triton.jit
def total_kernel(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + at, mask=at < n), axis=0))


def total_of_masked_lanes(x):
    out = x.new_empty((1,))
    total_kernel[(1,)](out, x, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))
    return out
