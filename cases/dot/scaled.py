"""Products of microscaled matrices."""

import triton
import triton.language as tl


@triton.jit
def scaled_kernel(
    a,
    a_scale,
    b,
    b_scale,
    c,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    GROUPS: tl.constexpr,
    A_FORMAT: tl.constexpr,
    B_FORMAT: tl.constexpr,
    A_PACKED: tl.constexpr,
    B_PACKED: tl.constexpr,
):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    groups = tl.arange(0, GROUPS)
    a_inner = tl.arange(0, K // A_PACKED)
    b_inner = tl.arange(0, K // B_PACKED)
    x = tl.load(a + rows[:, None] * (K // A_PACKED) + a_inner[None, :])
    y = tl.load(b + b_inner[:, None] * N + columns[None, :])
    x_scale = tl.load(a_scale + rows[:, None] * GROUPS + groups[None, :])
    y_scale = tl.load(b_scale + columns[:, None] * GROUPS + groups[None, :])
    product = tl.dot_scaled(x, x_scale, A_FORMAT, y, y_scale, B_FORMAT)
    tl.store(c + rows[:, None] * N + columns[None, :], product)


@triton.jit
def left_kernel(
    a,
    a_scale,
    b,
    c,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    GROUPS: tl.constexpr,
    A_FORMAT: tl.constexpr,
    B_FORMAT: tl.constexpr,
    A_PACKED: tl.constexpr,
):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    groups = tl.arange(0, GROUPS)
    a_inner = tl.arange(0, K // A_PACKED)
    b_inner = tl.arange(0, K)
    x = tl.load(a + rows[:, None] * (K // A_PACKED) + a_inner[None, :])
    y = tl.load(b + b_inner[:, None] * N + columns[None, :])
    x_scale = tl.load(a_scale + rows[:, None] * GROUPS + groups[None, :])
    product = tl.dot_scaled(x, x_scale, A_FORMAT, y, None, B_FORMAT)
    tl.store(c + rows[:, None] * N + columns[None, :], product)


@triton.jit
def accumulate_kernel(
    a,
    b,
    b_scale,
    c,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    GROUPS: tl.constexpr,
    A_FORMAT: tl.constexpr,
    B_FORMAT: tl.constexpr,
    FAST: tl.constexpr,
):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    groups = tl.arange(0, GROUPS)
    inner = tl.arange(0, K)
    x = tl.load(a + rows[:, None] * K + inner[None, :])
    y = tl.load(b + inner[:, None] * N + columns[None, :])
    y_scale = tl.load(b_scale + columns[:, None] * GROUPS + groups[None, :])
    place = c + rows[:, None] * N + columns[None, :]
    total = tl.dot_scaled(x, None, A_FORMAT, y, y_scale, B_FORMAT, acc=tl.load(place), fast_math=FAST)
    tl.store(place, total)


@triton.jit
def packed_kernel(
    a,
    a_scale,
    b,
    b_scale,
    c,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    GROUPS: tl.constexpr,
    A_K_PACK: tl.constexpr,
    B_K_PACK: tl.constexpr,
):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    groups = tl.arange(0, GROUPS)
    A_ROWS: tl.constexpr = M if A_K_PACK else M // 2
    A_COLUMNS: tl.constexpr = K // 2 if A_K_PACK else K
    B_ROWS: tl.constexpr = K // 2 if B_K_PACK else K
    B_COLUMNS: tl.constexpr = N if B_K_PACK else N // 2
    x = tl.load(a + tl.arange(0, A_ROWS)[:, None] * A_COLUMNS + tl.arange(0, A_COLUMNS)[None, :])
    y = tl.load(b + tl.arange(0, B_ROWS)[:, None] * B_COLUMNS + tl.arange(0, B_COLUMNS)[None, :])
    x_scale = tl.load(a_scale + rows[:, None] * GROUPS + groups[None, :])
    y_scale = tl.load(b_scale + columns[:, None] * GROUPS + groups[None, :])
    product = tl.dot_scaled(x, x_scale, "e2m1", y, y_scale, "e2m1", lhs_k_pack=A_K_PACK, rhs_k_pack=B_K_PACK)
    tl.store(c + rows[:, None] * N + columns[None, :], product)
