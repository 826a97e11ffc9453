import triton
import triton.language as tl


@triton.jit
def off_by_one(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs <= n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, x * 2, mask=mask)


@triton.jit
def wrong_stride(x_ptr, out_ptr, stride_xm, stride_xn, stride_om, stride_on, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    x = tl.load(x_ptr + rm[:, None] * stride_xm + rn[None, :] * stride_xn, mask=mask, other=0.0)
    tl.store(out_ptr + rm[:, None] * stride_xm + rn[None, :] * stride_on, x, mask=mask)


@triton.jit
def race(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    total = tl.load(out_ptr)
    tl.store(out_ptr, total + tl.sum(x, axis=0))


@triton.jit
def unmasked_tail(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(out_ptr + offs, x * 2)


@triton.jit
def missing_to(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
        if start == 0:
            acc = x
        else:
            acc = acc + x
    tl.store(out_ptr + tl.arange(0, BLOCK), acc)


@triton.jit
def aliased(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    before = tl.load(x_ptr + offs - 1, mask=(offs > 0) & (offs < n), other=0.0)
    tl.store(out_ptr + offs, x + before, mask=offs < n)
