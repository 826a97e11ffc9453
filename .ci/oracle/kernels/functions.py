"""Functions of one or two numbers, element by element."""

import torch
import triton
import triton.language as tl
from case import FINITE, Case


@triton.jit
def exp_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.exp(tl.load(x + i, mask=i < n)), mask=i < n)


def exp(x):
    y = torch.empty_like(x)
    exp_kernel[(triton.cdiv(x.numel(), 32),)](x, y, x.numel(), BLOCK=32)
    return y


@triton.jit
def log1p_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.log(1.0 + tl.load(x + i, mask=i < n, other=0.0)), mask=i < n)


def log1p(x):
    y = torch.empty_like(x)
    log1p_kernel[(triton.cdiv(x.numel(), 32),)](x, y, x.numel(), BLOCK=32)
    return y


@triton.jit
def hypot_kernel(a, b, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.load(a + i, mask=i < n, other=0.0)
    v = tl.load(b + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.sqrt(u * u + v * v), mask=i < n)


def hypot(a, b):
    y = torch.empty_like(a)
    hypot_kernel[(triton.cdiv(a.numel(), 32),)](a, b, y, a.numel(), BLOCK=32)
    return y


@triton.jit
def clamp_kernel(x, y, low, high, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.clamp(tl.load(x + i, mask=i < n), low, high), mask=i < n)


def clamp(x, low, high):
    y = torch.empty_like(x)
    clamp_kernel[(triton.cdiv(x.numel(), 32),)](x, y, low, high, x.numel(), BLOCK=32)
    return y


@triton.jit
def sincos_kernel(x, s, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(s + i, tl.sin(v), mask=i < n)
    tl.store(c + i, tl.cos(v), mask=i < n)


def sincos(x):
    s, c = torch.empty_like(x), torch.empty_like(x)
    sincos_kernel[(triton.cdiv(x.numel(), 32),)](x, s, c, x.numel(), BLOCK=32)
    return s, c


@triton.jit
def round_down_kernel(x, low, high, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(low + i, tl.floor(v), mask=i < n)
    tl.store(high + i, tl.ceil(v), mask=i < n)


def round_both(x):
    low, high = torch.empty_like(x), torch.empty_like(x)
    round_down_kernel[(triton.cdiv(x.numel(), 32),)](x, low, high, x.numel(), BLOCK=32)
    return low, high


@triton.jit
def horner_kernel(x_ptr, coef_ptr, y_ptr, degree, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    acc = tl.zeros([BLOCK], tl.float32)
    for k in range(degree + 1):
        acc = acc * x + tl.load(coef_ptr + degree - k)
    tl.store(y_ptr + i, acc, mask=i < n)


def horner(x, coefficients):
    y = torch.empty_like(x)
    n = x.numel()
    horner_kernel[(triton.cdiv(n, 32),)](x, coefficients, y, coefficients.numel() - 1, n, BLOCK=32)
    return y


def horner_reference(x, coefficients):
    return sum(c * x**k for k, c in enumerate(coefficients))


@triton.jit
def logaddexp_kernel(a_ptr, b_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + i, mask=i < n, other=0.0)
    b = tl.load(b_ptr + i, mask=i < n, other=0.0)
    m = tl.maximum(a, b)
    tl.store(y_ptr + i, m + tl.log(tl.exp(a - m) + tl.exp(b - m)), mask=i < n)


def logaddexp(a, b):
    y = torch.empty_like(a)
    logaddexp_kernel[(triton.cdiv(a.numel(), 32),)](a, b, y, a.numel(), BLOCK=32)
    return y


@triton.jit
def complex_multiply_kernel(a_ptr, b_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Pairs of a real and an imaginary part."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    ar = tl.load(a_ptr + 2 * i, mask=mask)
    ai = tl.load(a_ptr + 2 * i + 1, mask=mask)
    br = tl.load(b_ptr + 2 * i, mask=mask)
    bi = tl.load(b_ptr + 2 * i + 1, mask=mask)
    tl.store(y_ptr + 2 * i, ar * br - ai * bi, mask=mask)
    tl.store(y_ptr + 2 * i + 1, ar * bi + ai * br, mask=mask)


def complex_multiply(a, b):
    y = torch.empty_like(a)
    n = a.shape[0]
    complex_multiply_kernel[(triton.cdiv(n, 16),)](a, b, y, n, BLOCK=16)
    return y


@triton.jit
def rgb_to_grey_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    r = tl.load(x_ptr + 3 * i, mask=mask)
    g = tl.load(x_ptr + 3 * i + 1, mask=mask)
    b = tl.load(x_ptr + 3 * i + 2, mask=mask)
    tl.store(y_ptr + i, 0.2989 * r + 0.587 * g + 0.114 * b, mask=mask)


def rgb_to_grey(x):
    h, w, _ = x.shape
    y = torch.empty((h, w), dtype=x.dtype, device=x.device)
    rgb_to_grey_kernel[(triton.cdiv(h * w, 32),)](x, y, h * w, BLOCK=32)
    return y


@triton.jit
def newton_sqrt_kernel(x_ptr, y_ptr, n, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=1.0)
    y = 0.5 * (1.0 + x)
    for _ in range(STEPS):
        y = 0.5 * (y + x / y)
    tl.store(y_ptr + i, y, mask=i < n)


def newton_sqrt(x):
    y = torch.empty_like(x)
    n = x.numel()
    newton_sqrt_kernel[(triton.cdiv(n, 32),)](x, y, n, STEPS=5, BLOCK=32)
    return y


@triton.jit
def hash_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.load(x_ptr + i, mask=i < n, other=0)
    h = (h ^ (h >> 16)) * 0x45D9F3B
    h = h & 0x7FFFFFFF
    h = h ^ (h >> 15)
    tl.store(y_ptr + i, h, mask=i < n)


def hash_ints(x):
    y = torch.empty_like(x)
    n = x.numel()
    hash_kernel[(triton.cdiv(n, 32),)](x, y, n, BLOCK=32)
    return y


def hash_reference(x):
    h = ((x ^ (x >> 16)) * 0x45D9F3B) & 0x7FFFFFFF
    return h ^ (h >> 15)


@triton.jit
def popcount_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    count = tl.zeros([BLOCK], tl.int32)
    for bit in range(16):
        count += (x >> bit) & 1
    tl.store(y_ptr + i, count, mask=i < n)


def popcount(x):
    y = torch.empty_like(x)
    n = x.numel()
    popcount_kernel[(triton.cdiv(n, 32),)](x, y, n, BLOCK=32)
    return y


CASES = [
    Case("exp", exp, torch.exp, lambda make: [[make(99)]]),
    Case("log1p", log1p, torch.log1p, lambda make: [[make.uniform(99, high=3.0)]], data="given"),
    Case("hypot", hypot, torch.hypot, lambda make: [[make(99), make(99)]]),
    Case("clamp", clamp, torch.clamp, lambda make: [[make(99), -0.5, 0.75]], data=FINITE),
    Case("sincos", sincos, lambda x: (torch.sin(x), torch.cos(x)), lambda make: [[make(99, scale=3.0)]]),
    Case(
        "round_both",
        round_both,
        lambda x: (torch.floor(x), torch.ceil(x)),
        lambda make: [[make(99, scale=3.0)]],
        data=FINITE,
    ),
    Case("horner", horner, horner_reference, lambda make: [[make(50), make(5)]]),
    Case("logaddexp", logaddexp, torch.logaddexp, lambda make: [[make(99), make(99)]], data=FINITE),
    Case(
        "complex_multiply",
        complex_multiply,
        lambda a, b: torch.view_as_real(torch.view_as_complex(a) * torch.view_as_complex(b)),
        lambda make: [[make(21, 2), make(21, 2)]],
    ),
    Case(
        "rgb_to_grey",
        rgb_to_grey,
        lambda x: x @ torch.tensor([0.2989, 0.587, 0.114], dtype=x.dtype),
        lambda make: [[make.uniform(5, 7, 3)]],
    ),
    Case(
        "newton_sqrt",
        newton_sqrt,
        torch.sqrt,
        lambda make: [[make.uniform(50, low=0.5, high=4.0)]],
        data="given",
    ),
    Case(
        "hash_ints",
        hash_ints,
        hash_reference,
        lambda make: [[make.ints(50, high=1 << 20, dtype=torch.int64)]],
    ),
    Case(
        "popcount",
        popcount,
        lambda x: sum((x >> b) & 1 for b in range(16)),
        lambda make: [[make.ints(50, high=1 << 16)]],
    ),
]
