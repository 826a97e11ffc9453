"""Works out what the kernels of `kernels.py` give, and writes `results.yaml`.

Uses only Python's whole numbers and fractions: every result is the exact one, rounded once, to the nearest and in a tie
to the even one. Run it in this folder after a change: `python3 results.py`.
"""

import random
from fractions import Fraction
from math import inf, isnan, isqrt, nan

RANDOM = random.Random(7)
# For each float: bits of the significand, least exponent of a normal number, greatest, bits of all.
FLOATS = {
    "f16": (11, -14, 15, 16),
    "bf16": (8, -126, 127, 16),
    "f32": (24, -126, 127, 32),
    "f64": (53, -1022, 1023, 64),
    "fp8e5": (3, -14, 15, 8),
    "fp8e4nv": (4, -6, 8, 8),
}
TORCH = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "fp8e5": "float8_e5m2",
    "fp8e4nv": "float8_e4m3fn",
}


def round_nearest(value):
    """The whole number nearest to a fraction, of two the even one."""
    below = value.numerator // value.denominator
    rest = value - below
    return below + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1))


def bits_of(value, dtype, negative_zero=False):
    """The bits of an exact number in a float, rounded once."""
    precision, least, greatest, width = FLOATS[dtype]
    sign = (1 << (width - 1)) if value < 0 or negative_zero else 0
    value = abs(Fraction(value))
    exponent = least
    if value:
        exponent = value.numerator.bit_length() - value.denominator.bit_length()
        while Fraction(2) ** exponent > value:
            exponent -= 1
        while Fraction(2) ** (exponent + 1) <= value:
            exponent += 1
        exponent = max(exponent, least)
    unit = Fraction(2) ** (exponent - precision + 1)
    significand = round_nearest(value / unit)
    if significand * unit >= Fraction(2) ** (greatest + 1):
        return sign | (2 * greatest + 1) << (precision - 1)
    return sign | significand + ((exponent - least) << (precision - 1))


def number_of(word, dtype):
    """Decodes bits to the exact number. Returns None if it is not finite."""
    precision, least, _, width = FLOATS[dtype]
    sign = -1 if word >> (width - 1) else 1
    word &= (1 << (width - 1)) - 1
    exponent, fraction = word >> (precision - 1), word & ((1 << (precision - 1)) - 1)
    if exponent:
        fraction += 1 << (precision - 1)
        exponent -= 1
    return sign * fraction * Fraction(2) ** (exponent + least - precision + 1)


def sign_extend(word, width):
    word &= (1 << width) - 1
    return word - (1 << width) if word >> (width - 1) else word


def show_value(value):
    if isinstance(value, int):
        return str(value)
    # A fraction here is one that a double holds.
    value = float(value)
    return ".nan" if isnan(value) else {inf: ".inf", -inf: "-.inf"}.get(value, repr(value))


CASES = []


def write_case(kernel, storages, gives, tensors=None):
    text = [
        f"about: Arithmetic whose results are known, {len(CASES)}.",
        f"kernel: kernels.py:{kernel}",
        "storages:",
    ]
    for name, (dtype, values) in storages.items():
        fill = (
            "zeros"
            if isinstance(values, int)
            else "[" + ", ".join(show_value(value) for value in values) + "]"
        )
        shape = values if isinstance(values, int) else len(values)
        text.append(f"  {name}: {{ dtype: {dtype}, shape: [{shape}], fill: {fill} }}")
    if tensors:
        text.append("tensors:")
        text += [f'  {name}: "{view}"' for name, view in tensors.items()]
    parameters = [
        name for name in ("x", "y", "z", "shift", "out") if name in storages or name in (tensors or {})
    ]
    size = len(storages["x"][1]) if "x" in storages else len(storages["bits_x"][1])
    arguments = ", ".join(f"{name}: {name}" for name in parameters)
    text += ["launches:", f"  - {{ grid: [1], args: {{ {arguments}, N: {size} }} }}", "gives:"]
    for name, values in gives.items():
        text.append(f"  {name}: [" + ", ".join(show_value(value) for value in values) + "]")
    CASES.append("\n".join(text) + "\n")


def beside_ties(source, target):
    """Numbers of one float halfway between two of a narrower one, and beside."""
    precision, _, _, width = FLOATS[target]
    found = []
    for word in [0, 1, 2, 3, (1 << (precision - 1)) - 1, 1 << (precision - 1)] + [
        RANDOM.randrange((1 << (width - 1)) - (3 << (precision - 1))) for _ in range(6)
    ]:
        half = (number_of(word, target) + number_of(word + 1, target)) / 2
        word = bits_of(half, source)
        around = [number_of(word + step, source) for step in (-1, 0, 1)]
        found += [-value if RANDOM.random() < 0.5 else value for value in around]
    return (found + found)[:32]


def write_casts():
    for source, target in [
        ("f64", "f32"),
        ("f64", "f16"),
        ("f64", "bf16"),
        ("f32", "f16"),
        ("f32", "bf16"),
        ("f32", "fp8e5"),
        ("f32", "fp8e4nv"),
        ("f16", "fp8e5"),
    ]:
        values = beside_ties(source, target)
        if target in ("f16", "f32", "bf16") and source == "f64":
            values[-1] = number_of(bits_of(Fraction(2) ** 1000, "f64"), "f64")
        width = FLOATS[target][3]
        want = [sign_extend(bits_of(value, target, value < 0), width) for value in values]
        write_case(
            "cast",
            {"x": (source, values), "bits": (f"i{width}", len(values))},
            {"bits": want},
            {"out": f"bits.view(torch.{TORCH[target]})"},
        )
    for narrow in ("f16", "bf16", "fp8e5", "fp8e4nv"):
        precision, _, greatest, width = FLOATS[narrow]
        finite = (2 * greatest + 1) << (precision - 1) if narrow != "fp8e4nv" else 127
        words = [0, 1, 2, 3, (1 << (precision - 1)) - 1, 1 << (precision - 1), finite - 1] + [
            RANDOM.randrange(finite) for _ in range(25)
        ]
        words = [word | (RANDOM.randrange(2) << (width - 1)) if word else word for word in words]
        want = [
            sign_extend(bits_of(number_of(word, narrow), "f32", word >> (width - 1)), 32) for word in words
        ]
        write_case(
            "cast",
            {
                "bits_x": (f"i{width}", [sign_extend(word, width) for word in words]),
                "bits": ("i32", len(words)),
            },
            {"bits": want},
            {"x": f"bits_x.view(torch.{TORCH[narrow]})", "out": "bits.view(torch.float32)"},
        )


def integers_and_floats():
    for source, width, is_signed in [
        ("i64", 64, True),
        ("u64", 64, False),
        ("i32", 32, True),
        ("u32", 32, False),
    ]:
        for target in ("f16", "bf16", "f32", "f64"):
            precision = FLOATS[target][0]
            values = [0, 1, (1 << (width - is_signed)) - 1]
            while len(values) < 16:
                # If a float holds every whole number of the dtype, nothing is rounded.
                exact = precision + 1 >= width - is_signed
                most = 16 if target == "f16" else width - is_signed
                size = width - 2 if exact else RANDOM.randrange(precision + 1, most)
                head = (
                    RANDOM.randrange(1 << precision, 1 << (precision + 1))
                    if size > precision
                    else RANDOM.randrange(1 << size)
                )
                middle = (head | 1) << max(size - precision, 0)
                values += [middle - 1, middle, middle + 1]
            values = [value if not is_signed or RANDOM.random() < 0.5 else -value for value in values[:16]]
            values = [value for value in values if -(1 << (width - 1)) <= value < (1 << (width - is_signed))]
            values = (values + [2] * 16)[:16]
            target_width = FLOATS[target][3]
            write_case(
                "cast",
                {"x": (source, values), "bits": (f"i{target_width}", 16)},
                {"bits": [sign_extend(bits_of(value, target), target_width) for value in values]},
                {"out": f"bits.view(torch.{TORCH[target]})"},
            )
    for source in ("f32", "f64", "f16"):
        values = [
            Fraction(value)
            for value in (
                0.5,
                -0.5,
                1.5,
                -1.5,
                2.5,
                -2.5,
                0.0,
                7.75,
                -7.75,
                100.25,
                -100.75,
                127.5,
                -127.5,
                1000.5,
                -1000.5,
                3.0,
            )
        ]
        whole = [int(value) for value in values]
        for target in ("i16", "i32", "i64"):
            write_case("cast", {"x": (source, values), "out": (target, 16)}, {"out": whole})
        doubtful = [
            nan,
            inf,
            -inf,
            Fraction(0),
            number_of(1, source),
            -number_of(1, source),
            Fraction(1),
            Fraction(1, 4),
        ]
        write_case("truth", {"x": (source, doubtful), "out": ("i8", 8)}, {"out": [1, 1, 1, 0, 1, 1, 1, 1]})
    for source, width, is_signed in [
        ("i8", 8, True),
        ("u8", 8, False),
        ("i16", 16, True),
        ("u16", 16, False),
        ("i32", 32, True),
        ("u32", 32, False),
        ("i64", 64, True),
    ]:
        for target, to, to_signed in [
            ("i8", 8, True),
            ("u8", 8, False),
            ("i16", 16, True),
            ("i32", 32, True),
            ("u32", 32, False),
            ("i64", 64, True),
        ]:
            if source == target:
                continue
            values = [RANDOM.randrange(1 << width) for _ in range(14)] + [(1 << width) - 1, 1 << (width - 1)]
            values = [sign_extend(value, width) if is_signed else value for value in values]
            want = [sign_extend(value, to) if to_signed else value & ((1 << to) - 1) for value in values]
            write_case("cast", {"x": (source, values), "out": (target, 16)}, {"out": want})


def whole_numbers():
    for dtype, width, is_signed in [
        ("i8", 8, True),
        ("u8", 8, False),
        ("i16", 16, True),
        ("i32", 32, True),
        ("u32", 32, False),
        ("i64", 64, True),
        ("u64", 64, False),
    ]:

        def wrap_integer(value, width=width, is_signed=is_signed):
            return sign_extend(value, width) if is_signed else value & ((1 << width) - 1)

        low, top = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if is_signed else (0, (1 << width) - 1)
        a = [low, top, 0, 1, top - 1, top // 2, 7, 6] + [RANDOM.randint(low, top) for _ in range(8)]
        b = (
            [top, 2, top, top - 3, 3, top, 2, 3]
            + [RANDOM.randint(low, top) or 1 for _ in range(4)]
            + [RANDOM.randint(1, 9) * (-1 if is_signed and RANDOM.random() < 0.5 else 1) for _ in range(4)]
        )
        if is_signed:
            a[6], b[6], a[7], b[7], a[3], b[3] = -7, 2, 7, -3, -1, 5
        s = [RANDOM.randrange(width) for _ in range(16)]

        def divide_floor(x, y):
            return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)

        rows = [
            [wrap_integer(x + y) for x, y in zip(a, b)],
            [wrap_integer(x - y) for x, y in zip(a, b)],
            [wrap_integer(x * y) for x, y in zip(a, b)],
            [wrap_integer(divide_floor(x, y)) for x, y in zip(a, b)],
            [wrap_integer(x - y * divide_floor(x, y)) for x, y in zip(a, b)],
            [x >> n for x, n in zip(a, s)],
            [wrap_integer(x << n) for x, n in zip(a, s)],
            [wrap_integer((x & y) ^ (x | y)) for x, y in zip(a, b)],
            [min(x, y) for x, y in zip(a, b)],
            [max(x, y) for x, y in zip(a, b)],
        ]
        write_case(
            "integers",
            {"x": (dtype, a), "y": (dtype, b), "shift": (dtype, s), "out": (dtype, 160)},
            {"out": [value for row in rows for value in row]},
        )
        if width >= 32:
            mask = (1 << width) - 1
            write_case(
                "high",
                {"x": (dtype, a), "y": (dtype, b), "out": (dtype, 16)},
                {"out": [wrap_integer((x & mask) * (y & mask) >> width) for x, y in zip(a, b)]},
            )


def write_fractions():
    for dtype in ("f32", "f64", "f16"):
        precision, _, _, width = FLOATS[dtype]

        def any_number(precision=precision):
            value = Fraction(RANDOM.randrange(1 << (precision - 1), 1 << precision), 1 << (precision - 1))
            return value * Fraction(2) ** RANDOM.randrange(-4, 5) * RANDOM.choice((1, -1))

        a, b, c = ([any_number() for _ in range(16)] for _ in range(3))
        # The product is halfway between two numbers, and what is added says to which side: rounded twice, it is lost.
        one = Fraction(1) + Fraction(2) ** (1 - precision)
        half = Fraction(1) + Fraction(1, 2)
        tiny = Fraction(2) ** -13
        for at, (x, y, z) in enumerate(
            [
                (one, half, tiny),
                (one, half, -tiny),
                (one, one, Fraction(-1)),
                (one, -one, one),
                (-one, half, -tiny),
                (-one, half, tiny),
            ]
        ):
            a[at], b[at], c[at] = x, y, z

        def word_of(value, dtype=dtype, width=width):
            return sign_extend(bits_of(value, dtype), width)

        rows = [
            [word_of(x + y) for x, y in zip(a, b)],
            [word_of(x - y) for x, y in zip(a, b)],
            [word_of(x * y) for x, y in zip(a, b)],
            [word_of(x * y + z) for x, y, z in zip(a, b, c)],
            [word_of(min(x, y)) for x, y in zip(a, b)],
            [word_of(max(x, y)) for x, y in zip(a, b)],
            [word_of(abs(x)) for x in a],
        ]
        write_case(
            "floats",
            {"x": (dtype, a), "y": (dtype, b), "z": (dtype, c), "bits": (f"i{width}", 112)},
            {"bits": [value for row in rows for value in row]},
            {"out": f"bits.view(torch.{TORCH[dtype]})"},
        )
        if dtype == "f32":

            def exact_root(value):
                # Far more digits than the float has: what is left out cannot be a tie.
                scale = 200
                return Fraction(isqrt(value.numerator * (1 << (2 * scale)) // value.denominator), 1 << scale)

            rows = [
                [word_of(x / y) for x, y in zip(a, b)],
                [word_of(exact_root(abs(x))) for x in a],
                [word_of(Fraction(x.numerator // x.denominator)) for x in a],
                [word_of(-Fraction(-x.numerator // x.denominator)) for x in a],
            ]
            # A number between -1 and 0 is rounded up to -0.
            rows[3] = [-(1 << 31) if -1 < x < 0 else value for x, value in zip(a, rows[3])]
            write_case(
                "rounded",
                {"x": (dtype, a), "y": (dtype, b), "bits": ("i32", 64)},
                {"bits": [value for row in rows for value in row]},
                {"out": "bits.view(torch.float32)"},
            )
    for dtype in ("f16", "f32", "f64"):
        x = [nan, Fraction(1), Fraction(3), -inf, inf, Fraction(-5), nan, Fraction(2)]
        want = [
            [2.0, 1.0, 2.0, -inf, 2.0, -5.0, 2.0, 2.0],
            [2.0, 2.0, 3.0, 2.0, inf, 2.0, 2.0, 2.0],
            [nan, 1.0, 2.0, -inf, 2.0, -5.0, nan, 2.0],
            [nan, 2.0, 3.0, 2.0, inf, 2.0, nan, 2.0],
            [-1.0, 1.0, 2.0, -1.0, 2.0, -1.0, -1.0, 2.0],
            [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0],
        ]
        write_case(
            "not_numbers",
            {"x": (dtype, x), "out": (dtype, 48)},
            {"out": [value for row in want for value in row]},
        )


if __name__ == "__main__":
    write_casts()
    integers_and_floats()
    whole_numbers()
    write_fractions()
    with open("results.yaml", "w", encoding="utf-8") as file:
        file.write("# Written by `results.py`.\n" + "---\n".join(CASES))
    print(len(CASES), "cases")
