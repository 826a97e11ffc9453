import triton
import triton.language as tl


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
