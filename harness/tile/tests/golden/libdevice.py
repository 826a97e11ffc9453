"""Writes `libdevice.txt`: exact results of the functions of CUDA's math library, rounded once.

Run by hand, with mpmath: `python libdevice.py`. Nothing here is the reference's or CUDA's: numbers are Python's integers
and fractions, and mpmath's with 400 bits. A line is `symbol operands -> result`, all as bits in base 16.
"""

import math
import os
import random
import struct
from fractions import Fraction

import mpmath as m
from mpmath import mp, mpf

mp.prec = 400
HERE = os.path.dirname(os.path.abspath(__file__))
FORMATS = {"f": (24, -149, 32, "<f", "<I"), "d": (53, -1074, 64, "<d", "<Q")}
RANDOM = random.Random(20)


def bits(value: float, kind: str) -> int:
    return struct.unpack(FORMATS[kind][4], struct.pack(FORMATS[kind][3], value))[0]


def number(word: int, kind: str) -> float:
    return struct.unpack(FORMATS[kind][3], struct.pack(FORMATS[kind][4], word))[0]


def rounded(value: mpf | Fraction | float, kind: str, way: str = "rn") -> int:
    """The bits of a real number in a format."""
    digits, least, width, _, _ = FORMATS[kind]
    sign = 1 << (width - 1)
    nan = ((1 << width - digits + 1) - 1) << (digits - 2)
    infinity = ((1 << width - digits) - 1) << (digits - 1)
    if isinstance(value, (float, mpf)):
        if m.isnan(value):
            return nan
        if m.isinf(value):
            return infinity | (sign if value < 0 else 0)
        if value == 0:
            return sign if isinstance(value, float) and math.copysign(1, value) < 0 else 0
    if isinstance(value, mpf):
        mantissa, exponent = m.libmp.to_man_exp(value._mpf_)
        size = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
        value = -size if value < 0 else size
    value = Fraction(value)
    negative, size = value < 0, abs(value)
    if size == 0:
        return 0
    top = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** top > size:
        top -= 1
    last = max(top + 1 - digits, least)
    units = size / Fraction(2) ** last
    whole, rest = units.numerator // units.denominator, units % 1
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1),
        "rz": False,
        "rd": negative and rest > 0,
        "ru": not negative and rest > 0,
    }[way]
    whole += up
    if whole >> digits:
        whole, last = whole >> 1, last + 1
    if last + digits > 2 - least - digits + 1:
        inward = way == "rz" or (way == "rd" and not negative) or (way == "ru" and negative)
        result = infinity - 1 if inward else infinity
    elif whole >> (digits - 1):
        result = ((last - least + 1) << (digits - 1)) + whole - (1 << (digits - 1))
    else:
        result = whole
    return result | (sign if negative else 0)


def erfcx(x: mpf) -> mpf:
    return m.exp(x * x) * m.erfc(x)


def erfinv(y: mpf) -> mpf:
    return m.erfinv(y)


def erfcinv(y: mpf) -> mpf:
    if y > mpf("1e-10"):
        return m.erfinv(1 - y)
    x = m.sqrt(-m.log(y * m.sqrt(m.pi) * m.sqrt(-m.log(y))))
    for _ in range(12):
        value = m.erfc(x)
        x += (m.log(value) - m.log(y)) * m.sqrt(m.pi) / 2 * value * m.exp(x * x)
    return x


def gamma(x: mpf) -> mpf:
    return m.gamma(x)


def lgamma(x: mpf) -> mpf:
    return m.log(abs(m.gamma(x))) if x < 1000 else m.loggamma(x)


def norm(*values: mpf) -> mpf:
    return m.sqrt(sum(value * value for value in values))


# Each: the function, and the range that random operands are drawn from (exponents of 2, or `linear` bounds).
ONE = {
    "acosh": (m.acosh, (1, 50)),
    "asinh": (m.asinh, (-30, 30)),
    "atanh": (m.atanh, (-1, 1)),
    "cbrt": (lambda x: m.sign(x) * m.cbrt(abs(x)), (-1e9, 1e9)),
    "rcbrt": (lambda x: m.sign(x) / m.cbrt(abs(x)), (-1e3, 1e3)),
    "sinpi": (m.sinpi, (-20, 20)),
    "cospi": (m.cospi, (-20, 20)),
    "exp10": (lambda x: mpf(10) ** x, (-30, 30)),
    "erfc": (m.erfc, (-4, 9)),
    "erfcx": (erfcx, (-5, 30)),
    "erfinv": (erfinv, (-1, 1)),
    "erfcinv": (erfcinv, (0, 2)),
    "normcdf": (m.ncdf, (-12, 8)),
    "normcdfinv": (lambda p: -m.sqrt(2) * erfcinv(2 * p) if p < 0.25 else m.sqrt(2) * m.erfinv(2 * p - 1), (0, 1)),
    "tgamma": (gamma, (-10, 34)),
    "lgamma": (lgamma, (-2.2, 100)),
    "j0": (lambda x: m.besselj(0, x), (-30, 30)),
    "j1": (lambda x: m.besselj(1, x), (-30, 30)),
    "y0": (lambda x: m.bessely(0, x), (0.01, 30)),
    "y1": (lambda x: m.bessely(1, x), (0.01, 30)),
    "cyl_bessel_i0": (lambda x: m.besseli(0, x), (-80, 80)),
    "cyl_bessel_i1": (lambda x: m.besseli(1, x), (-80, 80)),
}
MANY = {
    "hypot": (norm, 2),
    "rhypot": (lambda *v: 1 / norm(*v), 2),
    "norm3d": (norm, 3),
    "rnorm3d": (lambda *v: 1 / norm(*v), 3),
    "norm4d": (norm, 4),
    "rnorm4d": (lambda *v: 1 / norm(*v), 4),
}


def draw(low: float, high: float, kind: str) -> float:
    value = RANDOM.uniform(low, high)
    if RANDOM.random() < 0.25:
        value *= 2.0 ** -RANDOM.randint(1, 20)
        value = min(max(value, low), high)
    return number(bits(value, kind), kind)


def special(lines: list[str]) -> None:
    for name, (function, (low, high)) in ONE.items():
        for kind, suffix in (("f", "f"), ("d", "")):
            wide = [-8.0, -3.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.125, 0.5, 0.75, 0.999, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 7.5, 25.0]
            operands = [x for x in wide if low <= x <= high] + [draw(low, high, kind) for _ in range(24)]
            for x in operands:
                x = number(bits(x, kind), kind)
                with_pole = (name == "tgamma" or name == "lgamma") and x <= 0 and x == int(x)
                if with_pole or (name in ("erfinv", "atanh") and abs(x) == 1) or (name in ("rcbrt", "y0", "y1") and x == 0):
                    continue
                if (name == "erfcinv" and x in (0, 2)) or (name == "normcdfinv" and x in (0, 1)):
                    continue
                value = function(mpf(x))
                lines.append(f"__nv_{name}{suffix} {bits(x, kind):x} -> {rounded(value, kind):x}")
    for name, (function, count) in MANY.items():
        for kind, suffix in (("f", "f"), ("d", "")):
            for _ in range(16):
                operands = [draw(-100, 100, kind) for _ in range(count)]
                value = function(*[mpf(x) for x in operands])
                shown = " ".join(f"{bits(x, kind):x}" for x in operands)
                lines.append(f"__nv_{name}{suffix} {shown} -> {rounded(value, kind):x}")


def directed(lines: list[str]) -> None:
    """Arithmetic, on numbers that are far apart, cancel, overflow, underflow, or lie on ties."""
    for kind, prefix in (("f", "f"), ("d", "d")):
        digits, least, width, _, _ = FORMATS[kind]
        largest = number((((1 << width - digits) - 1) << (digits - 1)) - 1, kind)
        normal = number(1 << (digits - 1), kind)
        ulp = 2.0 ** (1 - digits)
        hard = [1.0, 1 + ulp, 1 - ulp / 2, -1.0, 3.0, 1 / 3, largest, -largest, normal, -normal, ulp, ulp / 2, 1.5 * ulp]
        if kind == "d":
            hard += [number(1, kind), number(3, kind)]
        hard = [number(bits(x, kind), kind) for x in hard]
        random_ones = [math.ldexp(RANDOM.uniform(1, 2), RANDOM.randint(-30, 30)) * RANDOM.choice([1, -1]) for _ in range(30)]
        random_ones = [number(bits(x, kind), kind) for x in random_ones]
        pairs = [(x, y) for x in hard for y in hard] + list(zip(random_ones, random_ones[1:]))
        for way in ("rn", "rz", "rd", "ru"):
            for x, y in pairs:
                a, b = Fraction(x), Fraction(y)
                zero = -0.0 if way == "rd" else 0.0
                both = f"{bits(x, kind):x} {bits(y, kind):x}"
                for name, value in (("add", a + b), ("sub", a - b), ("mul", a * b), ("div", a / b)):
                    word = rounded(value, kind, way) if value else bits(zero, kind)
                    lines.append(f"__nv_{prefix}{name}_{way} {both} -> {word:x}")
                c = RANDOM.choice(hard + [-x * y if abs(x * y) < largest else 1.0])
                c = number(bits(c, kind), kind)
                value = a * b + Fraction(c)
                word = rounded(value, kind, way) if value else bits(zero, kind)
                fma = "fmaf" if kind == "f" else "fma"
                lines.append(f"__nv_{fma}_{way} {both} {bits(c, kind):x} -> {word:x}")
            for x in hard + random_ones:
                lines.append(f"__nv_{prefix}rcp_{way} {bits(x, kind):x} -> {rounded(1 / Fraction(x), kind, way):x}")
                root = exact_root(abs(x), kind, way)
                lines.append(f"__nv_{prefix}sqrt_{way} {bits(abs(x), kind):x} -> {root:x}")


def exact_root(x: float, kind: str, way: str) -> int:
    """By integers: the root with 200 bits, and half a unit more where that is not all."""
    value = Fraction(x)
    scaled = value * Fraction(4) ** 1500
    whole = math.isqrt(int(scaled))
    more = Fraction(0) if whole * whole == scaled else Fraction(1, 2)
    return rounded((whole + more) / Fraction(2) ** 1500, kind, way)


def conversions(lines: list[str]) -> None:
    integers = {"int": (32, True), "uint": (32, False), "ll": (64, True), "ull": (64, False)}
    numbers = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -1.5, 0.75, -0.25, 1e9, -1e9, 2.0**31, -(2.0**31), 2.0**31 - 128, 2.0**32, 2.0**32 - 256]
    numbers += [2.0**63, -(2.0**63), 2.0**63 - 2.0**39, 2.0**64, 2.0**64 - 2.0**40, 1e30, -1e30, math.inf, -math.inf, math.nan, 16777217.5]
    numbers += [RANDOM.uniform(-1e6, 1e6) for _ in range(8)]
    ways = {"rn": lambda v: round(v), "rz": int, "rd": math.floor, "ru": math.ceil}
    for source, kind in (("float", "f"), ("double", "d")):
        for target, (width, signed) in integers.items():
            low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
            for way, to_whole in ways.items():
                for x in numbers + ([0.1, 2.0**31 - 0.5, 2.0**53 + 2] if kind == "d" else []):
                    x = number(bits(x, kind), kind)
                    if math.isnan(x):
                        value = 0 if kind == "f" and width == 32 else 1 << (width - 1)
                    elif math.isinf(x):
                        value = high if x > 0 else low
                    else:
                        value = min(max(to_whole(Fraction(x)), low), high)
                    lines.append(f"__nv_{source}2{target}_{way} {bits(x, kind):x} -> {value % (1 << width):x}")
    for target, kind in (("float", "f"), ("double", "d")):
        for source, (width, signed) in integers.items():
            words = [0, 1, 2**24 + 1, 2**24 + 3, 2**31 - 1, 2**31, 2**32 - 1, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1]
            words += [RANDOM.getrandbits(width) for _ in range(12)] + ([2**53 + 1, 2**53 + 3, 2**64 - 1024, 2**63 + 1025] if width == 64 else [])
            for way in ("rn", "rz", "rd", "ru"):
                if target == "double" and width == 32 and way != "rn":
                    continue
                for word in words:
                    value = word - (1 << width) if signed and word >> (width - 1) else word
                    lines.append(f"__nv_{source}2{target}_{way} {word:x} -> {rounded(Fraction(value), kind, way):x}")
    for way in ("rn", "rz", "rd", "ru"):
        for x in [0.0, -0.0, 0.1, -0.1, 1e40, -1e40, 1e38, 2.0**-126, 2.0**-126 * 1.1, 3.4028235677973366e38, math.inf, math.nan, 1 + 2.0**-24, 1 + 3 * 2.0**-24]:
            value = Fraction(x) if math.isfinite(x) and x else x
            lines.append(f"__nv_double2float_{way} {bits(x, 'd'):x} -> {rounded(value, 'f', way):x}")


def main() -> None:
    lines: list[str] = []
    conversions(lines)
    directed(lines)
    special(lines)
    text = "# Written by libdevice.py; see there.\n" + "\n".join(dict.fromkeys(lines)) + "\n"
    with open(os.path.join(HERE, "libdevice.txt"), "w") as file:
        file.write(text)


main()
