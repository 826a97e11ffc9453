"""A program of bf16 kernels, for Triton's interpreter: 260 launches."""
import torch, triton, triton.language as tl

@triton.jit
def binary(x, y, out, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    if OP == "add": r = a + b
    elif OP == "sub": r = a - b
    elif OP == "mul": r = a * b
    elif OP == "div": r = (a / b).to(tl.bfloat16)
    elif OP == "max": r = tl.maximum(a, b)
    elif OP == "min": r = tl.minimum(a, b)
    elif OP == "where": r = tl.where(a > b, a, b)
    elif OP == "less": r = (a < b).to(tl.bfloat16)
    elif OP == "axpy": r = a * b + a
    else: r = -a
    tl.store(out + i, r, mask=i < n)

@triton.jit
def unary(x, out, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    w = a.to(tl.float32)
    if OP == "exp": r = tl.exp(w)
    elif OP == "sigmoid": r = tl.sigmoid(w)
    elif OP == "silu": r = w * tl.sigmoid(w)
    elif OP == "gelu": r = 0.5 * w * (1 + tl.erf(w * 0.7071067811865476))
    elif OP == "abs": r = tl.abs(w)
    elif OP == "sqrt": r = tl.sqrt(tl.abs(w))
    elif OP == "square": r = w * w
    else: r = w
    tl.store(out + i, r.to(tl.bfloat16), mask=i < n)

@triton.jit
def rows(x, out, m, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + j, mask=j < n, other=0.0)
    w = a.to(tl.float32)
    if OP == "softmax":
        e = tl.exp(w - tl.max(w, 0))
        r = e / tl.sum(e, 0)
    elif OP == "rms":
        r = w * (1 / tl.sqrt(tl.sum(w * w, 0) / n + 1e-6))
    elif OP == "center":
        r = w - tl.sum(w, 0) / n
    else:
        r = tl.cumsum(w, 0)
    tl.store(out + row * n + j, r.to(tl.bfloat16), mask=j < n)

@triton.jit
def totals(x, out, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + j, mask=j < n, other=0.0)
    if OP == "sum": r = tl.sum(a, 0)
    elif OP == "max": r = tl.max(a, 0)
    else: r = tl.sum(a.to(tl.float32), 0)
    tl.store(out + row, r)

@triton.jit
def integers(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=0).to(tl.bfloat16), mask=i < n)

@triton.jit
def matmul(a, b, c, K: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    k = tl.arange(0, K)
    x = tl.load(a + i[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + i[None, :])
    tl.store(c + i[:, None] * N + i[None, :], tl.dot(x, y))

def main():
    g = torch.Generator().manual_seed(7)
    rand = lambda *shape: torch.randn(*shape, generator=g).to(torch.bfloat16)
    count = 0
    for n in (17, 64, 100, 257):
        for op in ("add", "sub", "mul", "div", "max", "min", "where", "less", "axpy", "neg"):
            for _ in range(3):
                x, y, out = rand(n), rand(n), torch.zeros(n, dtype=torch.bfloat16)
                binary[(triton.cdiv(n, 64),)](x, y, out, n, op, 64); count += 1
        for op in ("exp", "sigmoid", "silu", "gelu", "abs", "sqrt", "square", "copy"):
            for _ in range(2):
                x, out = rand(n), torch.zeros(n, dtype=torch.bfloat16)
                unary[(triton.cdiv(n, 64),)](x, out, n, op, 64); count += 1
        for op in ("softmax", "rms", "center", "cumsum"):
            x, out = rand(3, n), torch.zeros(3, n, dtype=torch.bfloat16)
            rows[(3,)](x, out, 3, n, op, triton.next_power_of_2(n)); count += 1
        for op in ("sum", "max", "wide"):
            x, out = rand(3, n), torch.zeros(3, dtype=torch.bfloat16 if op != "wide" else torch.float32)
            totals[(3,)](x, out, n, op, triton.next_power_of_2(n)); count += 1
        x, out = torch.randint(-500, 500, (n,), generator=g, dtype=torch.int32), torch.zeros(n, dtype=torch.bfloat16)
        integers[(1,)](x, out, n, triton.next_power_of_2(n)); count += 1
    for n in (16, 32):
        for _ in range(4):
            a, b, c = rand(n, 32), rand(32, n), torch.zeros(n, n)
            matmul[(1,)](a, b, c, 32, n); count += 1
    print(count, "launches")

main()
