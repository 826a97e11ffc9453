import triton
import triton.language as tl


@triton.jit
def stored(x, once, again, HOW: tl.constexpr):
    r, c = tl.arange(0, 8), tl.arange(0, 32)
    total = tl.sum(tl.load(x + r[:, None] * 32 + c[None, :]), axis=1)
    tl.store(once + r, total)
    if HOW == "store":
        tl.store(again + r, total)
    elif HOW == "moved":
        both = tl.join(total, tl.zeros_like(total))
        left, right = tl.split(tl.trans(both).trans())
        tl.store(again + r, tl.where(r < 8, left, right))
    else:
        # Another sum of the same numbers: another value.
        tl.store(again + r, tl.sum(tl.load(x + r[:, None] * 32 + (31 - c)[None, :]), axis=1))
