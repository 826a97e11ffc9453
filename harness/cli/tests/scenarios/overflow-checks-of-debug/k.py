import triton
import triton.language as tl


@triton.jit
def operation(x, y, out, SIGN: tl.constexpr):
    i = tl.arange(0, 32)
    a = tl.load(x + i)
    b = tl.load(y + i)
    if SIGN == "+":
        r = a + b
    elif SIGN == "-":
        r = a - b
    else:
        r = a * b
    tl.store(out + i, r)


@triton.jit
def form(x, out, FORM: tl.constexpr):
    i = tl.arange(0, 32)
    a = tl.load(x + i)
    if FORM == "dropped":
        r = tl.where(i < 4, a + 2147483640, 0)
    elif FORM == "unused":
        tl.store(out + i, a + 2147483640, mask=i < 0)
        r = a
    elif FORM == "scalar":
        r = tl.load(x + 31) + 2147483640
    elif FORM == "augmented":
        r = a
        r += 2147483640
    elif FORM == "negated":
        r = -(a - 2147483647 - 1)
    elif FORM == "function":
        r = tl.add(a, 2147483640)
    elif FORM == "function_off":
        r = tl.add(a, 2147483640, sanitize_overflow=False)
    elif FORM == "wide":
        r = (a.to(tl.int64) + 2147483640).to(tl.int32)
    elif FORM == "shifted":
        r = a << 31
    elif FORM == "random":
        r = tl.randint(2147483647, a)
    else:
        r = a + 1
    tl.store(out + i, r)


@triton.jit(debug=True)
def by_decorator(x, out):
    i = tl.arange(0, 32)
    tl.store(out + i, tl.load(x + i) + 2147483640)


@triton.jit
def mul(a, b):
    return a * b


@triton.jit
def combined(x, out):
    i = tl.arange(0, 32)
    tl.store(out + i, tl.associative_scan(tl.load(x + i) + 1, 0, mul))


@triton.jit
def masked(x, out):
    i = tl.arange(0, 32)
    a = tl.load(x + i, mask=i < 4)
    tl.store(out + i, a - 1, mask=i < 4)
