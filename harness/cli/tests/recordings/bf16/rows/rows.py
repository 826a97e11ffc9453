import triton
import triton.language as tl


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
