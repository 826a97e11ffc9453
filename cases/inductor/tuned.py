"""Kernels under autotune. They are apart because some versions of Triton cannot import them without a GPU."""

import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK": 8}, num_warps=1), triton.Config({"BLOCK": 16}, num_warps=2)], key=["n"]
)
@triton.jit
def tuned_kernel(x, out, n, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + N, mask=i < n)


@triton.autotune(configs=[triton.Config({"BLOCK": 8}, num_warps=1)], key=["n"])
@triton.jit
def accumulate_kernel(x, out, n, BLOCK: tl.constexpr):
    """Running it twice gives something else."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(out + i, mask=i < n) + tl.load(x + i, mask=i < n), mask=i < n)


@triton.autotune(
    configs=[triton.Config({"BV": 2}, num_warps=1), triton.Config({"BV": 4}, num_warps=2)], key=["T"]
)
@triton.jit
def delta_kernel(
    q,
    k,
    v,
    beta,
    o,
    scale,
    T,
    K: tl.constexpr,
    V: tl.constexpr,
    BK: tl.constexpr,
    BV: tl.constexpr,
):
    """The recurrence of `delta.py` without given states, tuned over the rows of a block."""
    rows = tl.program_id(0) * BV + tl.arange(0, BV)
    columns = tl.arange(0, BK)
    head = tl.program_id(1)
    in_row, in_column = rows < V, columns < K
    state = tl.zeros((BV, BK), dtype=tl.float32)
    for t in range(0, T):
        place = head * T + t
        q_t = tl.load(q + place * K + columns, mask=in_column, other=0.0) * scale
        k_t = tl.load(k + place * K + columns, mask=in_column, other=0.0)
        v_t = tl.load(v + place * V + rows, mask=in_row, other=0.0)
        missed = v_t - tl.sum(state * k_t[None, :], axis=1)
        state += (tl.load(beta + place) * missed)[:, None] * k_t[None, :]
        tl.store(o + place * V + rows, tl.sum(state * q_t[None, :], axis=1), mask=in_row)
