import triton
import triton.language as tl


@triton.jit
def unused_kernel(x, out, n, WHERE: tl.constexpr):
    lanes = tl.arange(0, 16)
    narrow = tl.load(x + lanes)
    result = narrow
    if WHERE == "line":
        narrow - narrow
    elif WHERE == "branch":
        if n > 1:
            result = narrow - narrow
    elif WHERE == "loop":
        for _ in range(n):
            result = narrow * narrow
    elif WHERE == "while":
        while n > 0:
            result = narrow + narrow
            n -= 1
    elif WHERE == "carried":
        for _ in range(n):
            result = result + narrow
            tl.store(out + lanes, narrow.to(tl.float32))
    elif WHERE == "carried_by_while":
        while n > 0:
            result = result + narrow
            tl.store(out + lanes, narrow.to(tl.float32))
            n -= 1
    elif WHERE == "stored":
        narrow = narrow - narrow
    tl.store(out + lanes, narrow.to(tl.float32))
