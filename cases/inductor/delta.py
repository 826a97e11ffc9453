"""The fused recurrent delta rule of DeltaNet, forward ("Parallelizing Linear Transformers with the Delta Rule over
Sequence Length", Yang et al. 2024): with a state S of V rows and K columns for every batch and head,

    S_t = S_(t-1) + beta_t (v_t - S_(t-1) k_t) k_t^T        o_t = scale S_t q_t
"""

import triton
import triton.language as tl


@triton.jit
def step(state, q, k, v, beta):
    """The next state and its output, of a block of rows."""
    missed = v - tl.sum(state * k[None, :], axis=1)
    state += (beta * missed)[:, None] * k[None, :]
    return state, tl.sum(state * q[None, :], axis=1)


@triton.jit
def recurrent_kernel(
    q,
    k,
    v,
    beta,
    o,
    initial,
    final,
    scale,
    T,
    K: tl.constexpr,
    V: tl.constexpr,
    BK: tl.constexpr,
    BV: tl.constexpr,
    USE_INITIAL_STATE: tl.constexpr,
    STORE_FINAL_STATE: tl.constexpr,
):
    """Contiguous `[B, H, T, K]` and `[B, H, T, V]`; a program has a block of rows of one head's state."""
    rows = tl.program_id(0) * BV + tl.arange(0, BV)
    columns = tl.arange(0, BK)
    head = tl.program_id(1)
    in_row, in_column = rows < V, columns < K
    at = head * V * K + rows[:, None] * K + columns[None, :]
    inside = in_row[:, None] & in_column[None, :]
    state = tl.zeros((BV, BK), dtype=tl.float32)
    if USE_INITIAL_STATE:
        state += tl.load(initial + at, mask=inside, other=0.0).to(tl.float32)
    for t in range(0, T):
        place = head * T + t
        q_t = tl.load(q + place * K + columns, mask=in_column, other=0.0).to(tl.float32) * scale
        k_t = tl.load(k + place * K + columns, mask=in_column, other=0.0).to(tl.float32)
        v_t = tl.load(v + place * V + rows, mask=in_row, other=0.0).to(tl.float32)
        beta_t = tl.load(beta + place).to(tl.float32)
        state, o_t = step(state, q_t, k_t, v_t, beta_t)
        tl.store(o + place * V + rows, o_t.to(o.dtype.element_ty), mask=in_row)
    if STORE_FINAL_STATE:
        tl.store(final + at, state.to(final.dtype.element_ty), mask=inside)


@triton.jit
def strided_kernel(
    q,
    k,
    v,
    beta,
    o,
    scale,
    q_batch,
    q_head,
    q_time,
    k_batch,
    k_head,
    k_time,
    v_batch,
    v_head,
    v_time,
    beta_batch,
    beta_head,
    beta_time,
    H,
    T,
    K: tl.constexpr,
    V: tl.constexpr,
    BK: tl.constexpr,
    BV: tl.constexpr,
):
    """`[B, H, T, K]` and `[B, H, T, V]` of any strides but the last, and a contiguous output."""
    rows = tl.program_id(0) * BV + tl.arange(0, BV)
    columns = tl.arange(0, BK)
    batch, head = tl.program_id(1) // H, tl.program_id(1) % H
    in_row, in_column = rows < V, columns < K
    q += batch * q_batch + head * q_head
    k += batch * k_batch + head * k_head
    v += batch * v_batch + head * v_head
    beta += batch * beta_batch + head * beta_head
    o += tl.program_id(1) * T * V
    state = tl.zeros((BV, BK), dtype=tl.float32)
    for t in range(0, T):
        q_t = tl.load(q + t * q_time + columns, mask=in_column, other=0.0) * scale
        k_t = tl.load(k + t * k_time + columns, mask=in_column, other=0.0)
        v_t = tl.load(v + t * v_time + rows, mask=in_row, other=0.0)
        state, o_t = step(state, q_t, k_t, v_t, tl.load(beta + t * beta_time))
        tl.store(o + t * V + rows, o_t, mask=in_row)


@triton.jit
def fixed_stride_kernel(
    q,
    k,
    v,
    beta,
    o,
    scale,
    T,
    K: tl.constexpr,
    V: tl.constexpr,
    TIME: tl.constexpr,
    BK: tl.constexpr,
    BV: tl.constexpr,
):
    """One head whose rows of q and k lie `TIME` elements apart."""
    rows = tl.program_id(0) * BV + tl.arange(0, BV)
    columns = tl.arange(0, BK)
    in_row, in_column = rows < V, columns < K
    state = tl.zeros((BV, BK), dtype=tl.float32)
    for t in range(0, T):
        q_t = tl.load(q + t * TIME + columns, mask=in_column, other=0.0) * scale
        k_t = tl.load(k + t * TIME + columns, mask=in_column, other=0.0)
        v_t = tl.load(v + t * V + rows, mask=in_row, other=0.0)
        state, o_t = step(state, q_t, k_t, v_t, tl.load(beta + t))
        tl.store(o + t * V + rows, o_t, mask=in_row)
