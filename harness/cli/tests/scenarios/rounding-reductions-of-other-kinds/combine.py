import triton
import triton.language as tl


@triton.jit
def sums(a, b, c, d):
    return a + c, b + d


@triton.jit
def sum_and_product(a, b, c, d):
    return a + c, b * d


@triton.jit
def least_and_greatest(a, b, c, d):
    return tl.minimum(a, c), tl.maximum(b, d)


@triton.jit
def log_sum(m1, s1, m2, s2):
    m = tl.maximum(m1, m2)
    return m, s1 * tl.exp(m1 - m) + s2 * tl.exp(m2 - m)


@triton.jit
def recurrence(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def mean_and_count(m1, n1, m2, n2):
    n = n1 + n2
    return m1 + (m2 - m1) * (n2 / n), n


@triton.jit
def reduced(x, y, out, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    v, w = tl.load(x + i), tl.load(y + i)
    if F == "sums":
        a, b = tl.reduce((v, w), 0, sums)
    elif F == "sum_and_product":
        a, b = tl.reduce((v, w), 0, sum_and_product)
    elif F == "least_and_greatest":
        a, b = tl.reduce((v, w), 0, least_and_greatest)
    elif F == "log_sum":
        a, b = tl.reduce((v, w), 0, log_sum)
    else:
        a, b = tl.reduce((v, w), 0, mean_and_count)
    tl.store(out, a)
    tl.store(out + 1, b)


@triton.jit
def scanned(x, y, out, F: tl.constexpr, REVERSE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    v, w = tl.load(x + i), tl.load(y + i)
    if F == "recurrence":
        a, b = tl.associative_scan((v, w), 0, recurrence, reverse=REVERSE)
    else:
        a, b = tl.associative_scan((v, w), 0, sums, reverse=REVERSE)
    tl.store(out + i, a)
    tl.store(out + N + i, b)
