import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


@triton.jit
def softmax_kernel(output_ptr, input_ptr, input_row_stride, output_row_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    row_start = input_ptr + row * input_row_stride
    cols = tl.arange(0, BLOCK_SIZE)
    x = tl.load(row_start + cols, mask=cols < n_cols, other=-float("inf"))
    x = tl.exp(x - tl.max(x, axis=0))
    out = output_ptr + row * output_row_stride
    tl.store(out + cols, x / tl.sum(x, axis=0), mask=cols < n_cols)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                  BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACTIVATION: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptrs = a + rm[:, None] * stride_am + rk[None, :] * stride_ak
    b_ptrs = b + rk[:, None] * stride_bk + rn[None, :] * stride_bn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc += tl.dot(tl.load(a_ptrs), tl.load(b_ptrs))
        a_ptrs += BK * stride_ak
        b_ptrs += BK * stride_bk
    if ACTIVATION == "relu":
        acc = tl.maximum(acc, 0)
    tl.store(c + rm[:, None] * stride_cm + rn[None, :] * stride_cn, acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, o) > p
    tl.store(out + o, tl.where(keep, tl.load(x + o, mask=o < n) / (1 - p), 0.0), mask=o < n)


@triton.jit
def tma(desc, out_desc, M):
    tile = desc.load([0, 0])
    out_desc.store([0, 0], tile)


@triton.jit
def moved_on(X, Y, stride, N, eps, HAS_BIAS: tl.constexpr, DTYPE: tl.constexpr, BLOCK_N: tl.constexpr = 64):
    row = tl.program_id(0)
    X += row * stride
    Y += row * stride
    cols = tl.arange(0, BLOCK_N)
    x = tl.load(X + cols, mask=cols < N, other=0.0).to(DTYPE)
    if HAS_BIAS:
        x += eps
    tl.store(Y + cols, x, mask=cols < N)


def made():
    @triton.jit
    def inner(counter, values, n):
        at = tl.program_id(1)
        tl.atomic_add(counter + at, tl.load(values + at, mask=at < n))

    return inner
