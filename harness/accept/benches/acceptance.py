"""Kernels whose execution with intervals is timed beside the plain one."""

import triton
import triton.language as tl


@triton.jit
def add(out, x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < N
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def integers(out, x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < N
    a = tl.load(x + i, mask=mask, other=0)
    b = tl.load(y + i, mask=mask, other=0)
    c = (a * 31 + b) ^ (a >> 3)
    c = tl.where(c > b, c - a, c & b)
    tl.store(out + i, c * 7 + i, mask=mask)


@triton.jit
def dropout(out, x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < N
    v = tl.load(x + i, mask=mask)
    keep = tl.rand(42, i) > 0.3
    tl.store(out + i, tl.where(keep, v / 0.7, 0.0), mask=mask)


@triton.jit
def chain(out, x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < N
    a = tl.load(x + i, mask=mask, other=0.0)
    b = tl.load(y + i, mask=mask, other=0.0)
    c = a / (tl.abs(b) + 2.0)
    for k in tl.static_range(6):
        c = c * a + b
        c = c - 0.25 * a
        c = tl.maximum(c, -4.0)
    tl.store(out + i, c, mask=mask)


@triton.jit
def swiglu(out, x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < N
    a = tl.load(x + i, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(y + i, mask=mask, other=0.0)
    silu = a * tl.sigmoid(a)
    tl.store(out + i, silu.to(b.dtype) * b, mask=mask)


@triton.jit
def geglu(out, x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < N
    a = tl.load(x + i, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(y + i, mask=mask, other=0.0)
    inner = 0.7978845608028654 * (a + 0.044715 * a * a * a)
    tanh = 2 * tl.sigmoid(2 * inner) - 1
    tl.store(out + i, (0.5 * a * (1 + tanh)) * b, mask=mask)


@triton.jit
def rope(out, x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK // 2)
    a = tl.load(x + i)
    b = tl.load(x + i + BLOCK // 2)
    angle = tl.load(y + i)
    cos = tl.cos(angle)
    sin = tl.sin(angle)
    tl.store(out + i, a * cos - b * sin)
    tl.store(out + i + BLOCK // 2, b * cos + a * sin)


@triton.jit
def softmax(out, x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    i = tl.arange(0, BLOCK)
    mask = i < BLOCK - 3
    v = tl.load(x + row + i, mask=mask, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row + i, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def log_mixture(out, x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    i = tl.arange(0, BLOCK)
    mask = i < BLOCK - 3
    a = tl.load(x + row + i, mask=mask, other=-float("inf"))
    b = tl.load(y + row + i, mask=mask, other=-float("inf"))
    # NaN in the lanes that the mask leaves out.
    most = tl.maximum(a, b)
    mixed = 0.5 * tl.exp(a - most) + 0.5 * tl.exp(b - most)
    tl.store(out + row + i, most + tl.log(mixed), mask=mask)


@triton.jit
def softmax_loop(out, x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    m = -float("inf")
    d = 0.0
    for k in range(0, BLOCK, BLOCK // 4):
        v = tl.load(x + row + k + tl.arange(0, BLOCK // 4))
        new = tl.maximum(m, tl.max(v, 0))
        d = d * tl.exp(m - new) + tl.sum(tl.exp(v - new), 0)
        m = new
    for k in range(0, BLOCK, BLOCK // 4):
        i = row + k + tl.arange(0, BLOCK // 4)
        tl.store(out + i, tl.exp(tl.load(x + i) - m) / d)


@triton.jit
def layer_norm(out, x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    i = tl.arange(0, BLOCK)
    mask = i < BLOCK - 3
    v = tl.load(x + row + i, mask=mask, other=0.0)
    mean = tl.sum(v, axis=0) / (BLOCK - 3)
    d = tl.where(mask, v - mean, 0.0)
    var = tl.sum(d * d, axis=0) / (BLOCK - 3)
    rstd = 1 / tl.sqrt(var + 1e-5)
    w = tl.load(y + i, mask=mask)
    tl.store(out + row + i, d * rstd * w + 0.5, mask=mask)


@triton.jit
def rms_norm(out, x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    i = tl.arange(0, BLOCK)
    mask = i < BLOCK - 3
    v = tl.load(x + row + i, mask=mask, other=0.0)
    f = v.to(tl.float32)
    rstd = tl.rsqrt(tl.sum(f * f, axis=0) / (BLOCK - 3) + 1e-6)
    w = tl.load(y + i, mask=mask, other=0.0)
    tl.store(out + row + i, (f * rstd).to(v.dtype) * w, mask=mask)


@triton.jit
def cross_entropy(out, x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    m = float("-inf")
    d = 0.0
    for k in range(0, BLOCK, BLOCK // 2):
        v = tl.load(x + row + k + tl.arange(0, BLOCK // 2)).cast(tl.float32)
        new = tl.maximum(m, tl.max(v))
        d = d * tl.exp(m - new) + tl.sum(tl.exp(v - new))
        m = new
    lse = m + tl.log(d)
    for k in range(0, BLOCK, BLOCK // 2):
        i = row + k + tl.arange(0, BLOCK // 2)
        v = tl.load(x + i)
        tl.store(out + i, tl.exp(v - lse) / 64)


@triton.jit
def cumulative(out, x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.cumsum(tl.load(x + i), 0))


@triton.jit
def argmax(out, x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row + i)
    best = tl.argmax(v, 0)
    tl.store(out + row + i, tl.where(i == best, v, 0.0))


@triton.jit
def matmul(out, x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    T: tl.constexpr = 64
    i = tl.program_id(0) * T + tl.arange(0, T)
    j = tl.program_id(1) * T + tl.arange(0, T)
    k = tl.arange(0, 32)
    acc = tl.zeros((T, T), tl.float32)
    for at in range(0, BLOCK, 32):
        a = tl.load(x + i[:, None] * BLOCK + at + k[None, :])
        b = tl.load(y + (at + k)[:, None] * BLOCK + j[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(out + i[:, None] * BLOCK + j[None, :], acc)


@triton.jit
def attention(out, x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    T: tl.constexpr = 64
    i = tl.program_id(0) * T + tl.arange(0, T)
    d = tl.arange(0, 32)
    q = tl.load(x + i[:, None] * 32 + d[None, :])
    m = tl.full((T,), -float("inf"), tl.float32)
    l = tl.zeros((T,), tl.float32)
    acc = tl.zeros((T, 32), tl.float32)
    for at in range(0, BLOCK, 32):
        j = at + tl.arange(0, 32)
        k = tl.load(y + j[:, None] * 32 + d[None, :])
        s = tl.dot(q, tl.trans(k)) * 0.25
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        scale = tl.exp2(m - new)
        l = l * scale + tl.sum(p, 1)
        acc = acc * scale[:, None] + tl.dot(p.to(k.dtype), k)
        m = new
    tl.store(out + i[:, None] * 32 + d[None, :], acc / l[:, None])
