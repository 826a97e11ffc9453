import triton
import triton.language as tl


@triton.jit
def form(x, out, sane, FORM: tl.constexpr):
    i = tl.arange(0, 32)
    a = tl.load(x + i)
    if FORM == "right":
        r = a >> 100
    elif FORM == "left":
        r = a << 100
    elif FORM == "nan_to_int":
        r = tl.full([32], float("nan"), tl.float32).to(tl.int32)
    elif FORM == "other":
        r = tl.load(x + i, mask=i < 0)
    elif FORM == "reshaped":
        r = tl.reshape(tl.trans(tl.reshape(a >> 100, (4, 8))), (32,))
    elif FORM == "cast":
        r = (a >> 100).to(tl.int8).to(tl.int32)
    elif FORM == "compared":
        r = ((a >> 100) > 5).to(tl.int32)
    elif FORM == "carried":
        r = a
        for _ in range(3):
            r = (r << 100) + 1
    elif FORM == "summed":
        r = tl.sum(a >> 100) + tl.zeros([32], tl.int32)
    elif FORM == "partly":
        r = tl.where(i < 7, a >> 100, a)
    else:
        r = tl.where(i < 0, a >> 100, a + 2)
    tl.store(out + i, r)
    tl.store(sane + i, a + 1)


@triton.jit
def shift(x, out, sane):
    i = tl.arange(0, 4)
    tl.store(out + i, tl.load(x + i) >> 100)
    tl.store(sane + i, tl.load(x + i) + 1)


@triton.jit
def copy(x, out):
    i = tl.arange(0, 32)
    tl.store(out + i, tl.load(x + i))
