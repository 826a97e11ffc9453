"""Random numbers from offsets of every dtype."""

import triton
import triton.language as tl


@triton.jit
def numbers(x, out, OP: tl.constexpr):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    if OP == "rand":
        tl.store(out + i, tl.rand(42, a))
    elif OP == "randn":
        tl.store(out + i, tl.randn(42, a))
    elif OP == "randint":
        tl.store(out + i, tl.randint(42, a).to(tl.uint32).to(tl.float64))
    elif OP == "rand4x":
        p, q, r, s = tl.rand4x(42, a)
        tl.store(out + i, p)
        tl.store(out + 16 + i, q)
        tl.store(out + 32 + i, r)
        tl.store(out + 48 + i, s)
    elif OP == "randn4x":
        p, q, r, s = tl.randn4x(42, a)
        tl.store(out + i, p)
        tl.store(out + 16 + i, q)
        tl.store(out + 32 + i, r)
        tl.store(out + 48 + i, s)
    elif OP == "randint4x":
        p, q, r, s = tl.randint4x(42, a)
        tl.store(out + i, p.to(tl.uint32).to(tl.float64))
        tl.store(out + 16 + i, q.to(tl.uint32).to(tl.float64))
        tl.store(out + 32 + i, r.to(tl.uint32).to(tl.float64))
        tl.store(out + 48 + i, s.to(tl.uint32).to(tl.float64))
    elif OP == "philox":
        p, q, r, s = tl.philox(42, a, 0, 0, 0)
        tl.store(out + i, p.to(tl.uint32).to(tl.float64))
        tl.store(out + 16 + i, q.to(tl.uint32).to(tl.float64))
        tl.store(out + 32 + i, r.to(tl.uint32).to(tl.float64))
        tl.store(out + 48 + i, s.to(tl.uint32).to(tl.float64))
    elif OP == "pair_uniform_to_normal":
        p, q = tl.pair_uniform_to_normal(a, a)
        tl.store(out + i, p)
        tl.store(out + 16 + i, q)


@triton.jit
def rounds(x, out):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    p, q, r, s = tl.philox_impl(a, a + 1, a + 2, a + 3, a + 4, a + 5)
    tl.store(out + i, p)
    tl.store(out + 16 + i, q)
    tl.store(out + 32 + i, r)
    tl.store(out + 48 + i, s)
