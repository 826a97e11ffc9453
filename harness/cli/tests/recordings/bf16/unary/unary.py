import triton
import triton.language as tl


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
