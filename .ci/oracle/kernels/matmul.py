"""Products of matrices, in several schedules."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(tl.cdiv(K, BK)):
        ks = k * BK + rk
        a_mask = (rm[:, None] < M) & (ks[None, :] < K)
        b_mask = (ks[:, None] < K) & (rn[None, :] < N)
        a = tl.load(a_ptr + rm[:, None] * stride_am + ks[None, :] * stride_ak, mask=a_mask, other=0.0)
        b = tl.load(b_ptr + ks[:, None] * stride_bk + rn[None, :] * stride_bn, mask=b_mask, other=0.0)
        acc += tl.dot(a, b)
    c_mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(c_ptr + rm[:, None] * stride_cm + rn[None, :] * stride_cn, acc, mask=c_mask)


def matmul(a, b):
    m, k = a.shape
    _, n = b.shape
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(m, 16), triton.cdiv(n, 16))
    matmul_kernel[grid](
        a, b, c, m, n, k, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
        BM=16, BN=16, BK=16,
    )  # fmt: skip
    return c


@triton.jit
def matmul_grouped_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    num_pid_in_group = GROUP_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    offs_am = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_bn = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    c = accumulator.to(tl.float16)
    offs_cm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    tl.store(c_ptrs, c, mask=c_mask)


def matmul_grouped(a, b):
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)
    matmul_grouped_kernel[grid](
        a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
        BLOCK_M=16, BLOCK_N=16, BLOCK_K=32, GROUP_M=2,
    )  # fmt: skip
    return c


@triton.jit
def matmul_splitk_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT_K: tl.constexpr
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    split = tl.program_id(2)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(split * BK, K, BK * SPLIT_K):
        rk = k + tl.arange(0, BK)
        a = tl.load(
            a_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0
        )
        b = tl.load(
            b_ptr + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0
        )
        acc += tl.dot(a, b)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.atomic_add(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=mask)


def matmul_splitk(a, b):
    m, k = a.shape
    n = b.shape[1]
    c = torch.zeros((m, n), device=a.device, dtype=torch.float32)
    grid = (triton.cdiv(m, 16), triton.cdiv(n, 16), 3)
    matmul_splitk_kernel[grid](a, b, c, m, n, k, BM=16, BN=16, BK=16, SPLIT_K=3)
    return c


@triton.jit
def bmm_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    batch = tl.program_id(2)
    a_ptr += batch * M * K
    b_ptr += batch * K * N
    c_ptr += batch * M * N
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(
            a_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0
        )
        b = tl.load(
            b_ptr + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0
        )
        acc += tl.dot(a, b)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def bmm(a, b):
    batch, m, k = a.shape
    n = b.shape[2]
    c = torch.empty((batch, m, n), device=a.device, dtype=a.dtype)
    bmm_kernel[(triton.cdiv(m, 16), triton.cdiv(n, 16), batch)](a, b, c, m, n, k, BM=16, BN=16, BK=16)
    return c


@triton.jit
def matmul_persistent_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr
):
    tiles_n = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * tiles_n
    for tile in range(tl.program_id(0), tiles, PROGRAMS):
        rm = tile // tiles_n * BM + tl.arange(0, BM)
        rn = tile % tiles_n * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            rk = k + tl.arange(0, BK)
            a = tl.load(
                a_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0
            )
            b = tl.load(
                b_ptr + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0
            )
            acc = tl.dot(a, b, acc)
        mask = (rm[:, None] < M) & (rn[None, :] < N)
        tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(c_ptr.dtype.element_ty), mask=mask)


def matmul_persistent(a, b):
    m, k = a.shape
    n = b.shape[1]
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    matmul_persistent_kernel[(2,)](a, b, c, m, n, k, BM=16, BN=16, BK=16, PROGRAMS=2)
    return c


@triton.jit
def linear_kernel(
    x_ptr, w_ptr, bias_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """`x @ w.T + bias`, then ReLU; `w` has the shape (N, K)."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(
            x_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0
        )
        w = tl.load(
            w_ptr + rn[:, None] * K + rk[None, :], mask=(rn[:, None] < N) & (rk[None, :] < K), other=0.0
        )
        acc += tl.dot(x, tl.trans(w))
    bias = tl.load(bias_ptr + rn, mask=rn < N, other=0.0)
    y = tl.maximum(acc + bias[None, :], 0.0)
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], y, mask=(rm[:, None] < M) & (rn[None, :] < N))


def linear_relu(x, w, bias):
    m, k = x.shape
    n = w.shape[0]
    y = torch.empty((m, n), device=x.device, dtype=x.dtype)
    linear_kernel[(triton.cdiv(m, 16), triton.cdiv(n, 16))](x, w, bias, y, m, n, k, BM=16, BN=16, BK=16)
    return y


@triton.jit
def matmul_int8_kernel(
    a_ptr, b_ptr, sa_ptr, sb_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.int32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(
            a_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0
        )
        b = tl.load(
            b_ptr + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0
        )
        acc += tl.dot(a, b, out_dtype=tl.int32)
    sa = tl.load(sa_ptr + rm, mask=rm < M, other=0.0)
    sb = tl.load(sb_ptr + rn, mask=rn < N, other=0.0)
    c = acc.to(tl.float32) * sa[:, None] * sb[None, :]
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], c, mask=(rm[:, None] < M) & (rn[None, :] < N))


def matmul_int8(a, b, sa, sb):
    m, k = a.shape
    n = b.shape[1]
    c = torch.empty((m, n), device=a.device, dtype=torch.float32)
    grid = (triton.cdiv(m, 16), triton.cdiv(n, 16))
    matmul_int8_kernel[grid](a, b, sa, sb, c, m, n, k, BM=16, BN=16, BK=32)
    return c


@triton.jit
def matvec_kernel(a_ptr, x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    acc = tl.zeros((BM,), dtype=tl.float32)
    for n in range(0, N, BN):
        rn = n + tl.arange(0, BN)
        a = tl.load(
            a_ptr + rm[:, None] * N + rn[None, :], mask=(rm[:, None] < M) & (rn[None, :] < N), other=0.0
        )
        x = tl.load(x_ptr + rn, mask=rn < N, other=0.0)
        acc += tl.sum(a * x[None, :], axis=1)
    tl.store(y_ptr + rm, acc, mask=rm < M)


def matvec(a, x):
    m, n = a.shape
    y = torch.empty(m, device=a.device, dtype=a.dtype)
    matvec_kernel[(triton.cdiv(m, 4),)](a, x, y, m, n, BM=4, BN=16)
    return y


@triton.jit
def outer_kernel(x_ptr, y_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    x = tl.load(x_ptr + rm, mask=rm < M)
    y = tl.load(y_ptr + rn, mask=rn < N)
    tl.store(
        out_ptr + rm[:, None] * N + rn[None, :],
        x[:, None] * y[None, :],
        mask=(rm[:, None] < M) & (rn[None, :] < N),
    )


def outer(x, y):
    m, n = x.numel(), y.numel()
    out = torch.empty((m, n), device=x.device, dtype=x.dtype)
    outer_kernel[(triton.cdiv(m, 8), triton.cdiv(n, 8))](x, y, out, m, n, BM=8, BN=8)
    return out


@triton.jit
def addmm_kernel(
    c_ptr, a_ptr, b_ptr, out_ptr, alpha, beta, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(
            a_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0
        )
        b = tl.load(
            b_ptr + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0
        )
        acc += tl.dot(a, b)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    c = tl.load(c_ptr + rm[:, None] * N + rn[None, :], mask=mask, other=0.0)
    tl.store(out_ptr + rm[:, None] * N + rn[None, :], alpha * acc + beta * c, mask=mask)


def addmm(c, a, b, alpha, beta):
    m, k = a.shape
    n = b.shape[1]
    out = torch.empty_like(c)
    addmm_kernel[(triton.cdiv(m, 16), triton.cdiv(n, 16))](
        c, a, b, out, alpha, beta, m, n, k, BM=16, BN=16, BK=16
    )
    return out


@triton.jit
def matmul_leaky_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    k = 0
    while k < K:
        rk = k + tl.arange(0, BK)
        a = tl.load(
            a_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0
        )
        b = tl.load(
            b_ptr + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0
        )
        acc += tl.dot(a, b, input_precision="ieee")
        k += BK
    c = tl.where(acc >= 0, acc, 0.01 * acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], c, mask=(rm[:, None] < M) & (rn[None, :] < N))


def matmul_leaky(a, b):
    m, k = a.shape
    n = b.shape[1]
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    matmul_leaky_kernel[(triton.cdiv(m, 16), triton.cdiv(n, 16))](a, b, c, m, n, k, BM=16, BN=16, BK=16)
    return c


@triton.jit
def gram_kernel(x_ptr, out_ptr, M, K, BM: tl.constexpr, BK: tl.constexpr):
    """`x @ x.T` divided by the number of columns."""
    ri = tl.program_id(0) * BM + tl.arange(0, BM)
    rj = tl.program_id(1) * BM + tl.arange(0, BM)
    acc = tl.zeros((BM, BM), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        xi = tl.load(
            x_ptr + ri[:, None] * K + rk[None, :], mask=(ri[:, None] < M) & (rk[None, :] < K), other=0.0
        )
        xj = tl.load(
            x_ptr + rj[None, :] * K + rk[:, None], mask=(rj[None, :] < M) & (rk[:, None] < K), other=0.0
        )
        acc += tl.dot(xi, xj)
    tl.store(out_ptr + ri[:, None] * M + rj[None, :], acc / K, mask=(ri[:, None] < M) & (rj[None, :] < M))


def gram(x):
    m, k = x.shape
    out = torch.empty((m, m), device=x.device, dtype=x.dtype)
    gram_kernel[(triton.cdiv(m, 16), triton.cdiv(m, 16))](x, out, m, k, BM=16, BK=16)
    return out


def pairs(make):
    half = torch.float16
    return [
        [make(33, 20), make(20, 18)],
        [make(16, 32), make(32, 16)],
        [make(17, 40, dtype=half), make(40, 19, dtype=half)],
    ]


CASES = [
    Case("matmul", matmul, torch.matmul, lambda make: [*pairs(make), [make(20, 17).t(), make(9, 20).t()]]),
    Case(
        "matmul_grouped",
        matmul_grouped,
        torch.matmul,
        lambda make: [[make(50, 40, dtype=torch.float16), make(40, 35, dtype=torch.float16)]],
    ),
    Case("matmul_splitk", matmul_splitk, torch.matmul, lambda make: [[make(17, 70), make(70, 20)]]),
    Case("bmm", bmm, torch.bmm, lambda make: [[make(2, 17, 20), make(2, 20, 11)]]),
    Case("matmul_persistent", matmul_persistent, torch.matmul, pairs),
    Case(
        "linear_relu",
        linear_relu,
        lambda x, w, b: F.relu(F.linear(x, w, b)),
        lambda make: [[make(17, 20), make(21, 20), make(21)]],
        data=FINITE,
    ),
    Case(
        "matmul_int8",
        matmul_int8,
        lambda a, b, sa, sb: (a.double() @ b.double()) * sa[:, None] * sb,
        lambda make: [
            [
                make.ints(17, 40, low=-128, high=128, dtype=torch.int8),
                make.ints(40, 20, low=-128, high=128, dtype=torch.int8),
                make.uniform(17, low=0.01, high=0.1),
                make.uniform(20, low=0.01, high=0.1),
            ]
        ],
    ),
    Case("matvec", matvec, torch.mv, lambda make: [[make(13, 37), make(37)], [make(8, 16), make(16)]]),
    Case("outer", outer, torch.outer, lambda make: [[make(13), make(21)]]),
    Case(
        "addmm",
        addmm,
        lambda c, a, b, alpha, beta: beta * c + alpha * (a @ b),
        lambda make: [[make(17, 18), make(17, 20), make(20, 18), 0.5, 2.0]],
    ),
    Case("matmul_leaky", matmul_leaky, lambda a, b: F.leaky_relu(a @ b), pairs, data=FINITE),
    Case(
        "gram",
        gram,
        lambda x: x @ x.t() / x.shape[1],
        lambda make: [[make(19, 24)], [make(32, 16)]],
        data=FINITE,
    ),
]
