import triton
import triton.language as tl


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a_at = a_ptr + rm[:, None] * stride_am + (k * BK + rk)[None, :] * stride_ak
        b_at = b_ptr + (k * BK + rk)[:, None] * stride_bk + rn[None, :] * stride_bn
        a = tl.load(a_at, mask=(rm[:, None] < M) & (k * BK + rk[None, :] < K), other=0.0)
        b = tl.load(b_at, mask=(k * BK + rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    c_at = c_ptr + rm[:, None] * stride_cm + rn[None, :] * stride_cn
    tl.store(c_at, acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def layer_norm(x_ptr, out_ptr, weight_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * stride + at, mask=at < n, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + at, mask=at < n, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + at, mask=at < n, other=0.0)
        tl.store(out_ptr + row * stride + at, (x - mean) * weight * eps, mask=at < n)


def configurations():
    return [triton.Config({"BLOCK": size}, num_warps=warps) for size in (64, 128) for warps in (4, 8)]


@triton.autotune(configs=configurations(), key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % 128 == 0})
@triton.jit
def tuned(x_ptr, out_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        x = tl.load(x_ptr + at)
    else:
        x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr + at, x + 1, mask=at < n)


@triton.jit
def put(out_ptr, at, value, n):
    tl.store(out_ptr + at, value, mask=at < n)


@triton.jit
def by_another(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    put(out_ptr, at, tl.load(x_ptr + at, mask=at < n, other=0.0), n)
