"""Writes `cpython.txt.gz`: expressions, and what CPython 3.11 makes of each.

A line is the expression, a tab, and its `repr`, or `!` with the exception's type and text. `inf` and `nan` are names.
Left out are expressions whose value is wider than what `cerith_python` holds.

    python3.11 harness/python/tests/make_table.py
"""

import gzip
import itertools
import math
import random
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_BITS = 8192
NUMBERS = """
    0 1 -1 2 3 -3 7 10 -10 True False
    2**53-1 2**53 2**53+1 -(2**53)-1 2**60+1 2**63-1 2**63 -(2**63) 2**64-1 2**127-1 2**127 -(2**127) -(2**127)-1
    10**30 -(10**30) 10**309 3**200 -(2**1030)
    0.0 -0.0 1.0 -1.0 0.5 -0.5 1.5 2.5 0.1 3.7 -7.25 1e16 1e22 12345.678 9007199254740993.0
    1e308 -1e308 1.7976931348623157e308 5e-324 2.2250738585072014e-308 1e-300 -1e-20 inf -inf nan
""".split()  # noqa: SIM905
OTHERS = [
    "None", "''", "'a'", "'ab'", "' 12 '", "'1_0'", "'é\\n'", "()", "(1,)", "(1, 2)", "(1, 'a')",
    "[]", "[1]", "[1, 2.5]", "['b', 'a']", "[None]", "[[1], (2,)]", "((), [])",
]  # fmt: skip
FEW = ["0", "1", "-1", "True", "3", "2.5", "nan", "10**30", "-(10**30)"]
ARITHMETIC = ["+", "-", "*", "/", "//", "%", "&", "|", "^"]
COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]
TEXTS = [
    "", " ", "0", "-0", "+7", "- 7", "--7", "12", " 12\\t", "\\x1c3\\x1f", "\\u20053", "1_0", "1__0", "_1", "1_", "+_1", "007",
    "0_0", "0x10", "0X_ff", "0x", "-0b101", "0o17", "0b2", "ff", "zz", "1.5", "1.", ".5", ".", "1e5", "1_0.0_1", "1_.0", "1._0",
    "1e_5", "1e1_0", "inf", "-Infinity", "nan", "+NaN", "infinit", "1e400", "-1e-400", "1" * 400, "12abc", "0x1p3", "1 2",
    "9" * 40, "1e", "e5", "\\n5\\n", "5e-324", "2.5e-324", "2.4e-324", "1.7976931348623159e308", "é", "it's", 'a\\"b',
]  # fmt: skip
ONE = """
    abs int float bool str len list tuple sum min max sorted any all round
    math.ceil math.floor math.trunc math.sqrt math.exp math.exp2 math.log math.log2 math.log10 math.fabs math.isnan math.isinf
    math.gcd math.prod
""".split()  # noqa: SIM905


def parenthesise(text: str) -> str:
    return text if text.isidentifier() or text.replace(".", "").isdigit() or text[0] in "'[(" else f"({text})"


def number_expressions() -> Iterator[str]:
    for left, right in itertools.product(map(parenthesise, NUMBERS), repeat=2):
        for op in ARITHMETIC + COMPARISONS:
            yield f"{left} {op} {right}"
        yield f"divmod({left}, {right})"
    exponents = [
        text for text in NUMBERS if abs(eval(text, NAMES)) <= 64 or isinstance(eval(text, NAMES), float)
    ]
    for left, right in itertools.product(
        NUMBERS, ["0", "1", "5", "63", "64", "127", "200", "-1", "True", "1.0"]
    ):
        yield f"{parenthesise(left)} << {right}"
        yield f"{parenthesise(left)} >> {right}"
    for left in NUMBERS:
        yield f"{parenthesise(left)} >> 10**30"
        yield f"0 << {parenthesise(left)}"
        for right in [*exponents, "300", "-2"]:
            yield f"{parenthesise(left)} ** {parenthesise(right)}"
            yield f"math.pow({left}, {right})"
        for one in ["0", "1", "-1"]:
            yield f"({one}) ** {parenthesise(left)}"
        for modulus in ["0", "1", "-7", "1000", "2**64", "None", "2.5"]:
            if modulus != "None" or left in exponents:
                yield f"pow(3, {left}, {modulus})"
            yield f"pow({left}, 5, {modulus})"
            yield f"pow({left}, -3, {modulus})"
        yield f"math.log({left}, 2)"
        yield f"math.log({left}, 1)"
        for other in ["0", "12", "-18", "2.0", "2**70"]:
            yield f"math.gcd({left}, {other})"
            yield f"math.copysign({left}, {other})"


def mixed_expressions() -> Iterator[str]:
    every = [*map(parenthesise, FEW), *OTHERS]
    for left, right in itertools.product(every, every):
        if left in map(parenthesise, FEW) and right in map(parenthesise, FEW):
            continue
        for op in [*ARITHMETIC, *COMPARISONS, "**", "<<", ">>", "@", "in", "not in"]:
            if op == "%" and left[0] == "'":
                continue
            yield f"{left} {op} {right}"
        for name in ["divmod", "pow", "min", "max", "round"]:
            yield f"{name}({left}, {right})"
    for left in [*map(parenthesise, NUMBERS), *OTHERS]:
        for op in ["+", "-", "~", "not "]:
            yield f"{op}{left}"
        for name in ONE:
            yield f"{name}({left})"
        for name in ["reversed", "enumerate", "zip"]:
            yield f"list({name}({left}))"
        yield f"{left} is None"
        yield f"{left} and 5"
        yield f"{left} or 5"
        yield f"1 if {left} else 2"
        for index in ["0", "-1", "2", "True", "None", "'a'", "1.0", "10**30", "-(2**63)-1"]:
            yield f"{left}[{index}]"
    for sequence in ["'abcdefg'", "[1, 2, 3, 4, 5, 6, 7]", "(1, 2, 3, 4, 5, 6, 7)", "''", "[1]"]:
        for start, stop, step in itertools.product(
            ["", "0", "2", "-2", "9", "-(10**30)"],
            ["", "0", "5", "-1", "10**30"],
            ["", "1", "2", "-1", "-3", "0", "None", "1.0"],
        ):
            yield f"{sequence}[{start}:{stop}:{step}]"


def call_expressions() -> Iterator[str]:
    for text in TEXTS:
        for call in ["int({})", "float({})", "str([{}])", "len({})", "list({})", "{} * 2", "2 * {} + 'x'"]:
            yield call.format(f'"{text}"')
        for base in [0, 1, 2, 8, 10, 16, 36, 37, -1]:
            yield f'int("{text}", {base})'
    for value in ["5", "1.5", "None"]:
        yield f"int({value}, 10)"
    floats = [text for text in NUMBERS if isinstance(eval(text, NAMES), float)]
    more = [
        "0.125",
        "-0.125",
        "0.375",
        "2.675",
        "1e15+0.5",
        "4503599627370497.5",
        "15.0",
        "25.0",
        "-35.0",
        "150.0",
        "250.0",
        "5e22",
        "0.05",
    ]
    for value in [*floats, *more]:
        for digits in [
            *range(-4, 5),
            15,
            16,
            17,
            22,
            100,
            300,
            323,
            324,
            400,
            -15,
            -22,
            -300,
            -308,
            -309,
            -400,
            10**30,
            -(10**30),
        ]:
            yield f"round({value}, {digits})"
        yield f"round({value}, None)"
        yield f"round({value}, 1.0)"
    for value in [
        "0",
        "5",
        "15",
        "25",
        "-25",
        "125",
        "True",
        "2**64-1",
        "10**30",
        "-(10**30)-5*10**28",
        "5*10**29",
        "3**200",
    ]:
        for digits in ["0", "1", "-1", "-2", "-29", "-30", "-31", "-400", "10**30", "None", "'a'"]:
            yield f"round({value}, {digits})"
    bounds = ["0", "3", "-3", "10", "True", "2.0", "10**30", "10**30+5"]
    for start, stop, step in itertools.product(bounds, bounds, ["1", "2", "-1", "-4", "0", "10**30", "None"]):
        if step in ["0", "10**30", "None"] or (start[:3] == "10*") == (stop[:3] == "10*"):
            yield f"list(range({start}, {stop}, {step}))"
    for stop in [*bounds[:6], "'a'", "None"]:
        yield f"list(range({stop}))"
    lists = [
        "[3, 1, 2]", "[2.5, True, 0]", "['b', 'a', 'ab']", "[(1, 2), (1, 1)]", "[1, 'a']", "['a', 1]", "[1e308, 1e308]",
        "[10**400, 1.0]", "[1.0, 10**400]", "[0.1] * 10", "[[1], [2, 3]]", "[(1,), [1]]", "[None, None]", "[1, None]",
        "(0.0, -0.0)", "[-0.0, 0]", "'hello'", "[2**127 - 1, 1]", "[nan, 1.0]", "[1.0, nan]", "[5, 3, 9, 1, 7, 3, 5.0, 9.0]",
    ]  # fmt: skip
    for items in lists:
        for name in ["sum", "min", "max", "sorted", "any", "all", "math.prod", "list", "tuple", "len"]:
            yield f"{name}({items})"
        for start in ["10", "0.5", "[]", "()", "'a'", "None"]:
            yield f"sum({items}, {start})"
            yield f"list(enumerate({items}, {start}))"
        for other in lists[:6]:
            yield f"list(zip({items}, {other}))"
            for op in COMPARISONS:
                yield f"{items} {op} {other}"
    for name in [
        "abs",
        "len",
        "min",
        "max",
        "pow",
        "divmod",
        "round",
        "sum",
        "int",
        "float",
        "bool",
        "str",
        "list",
        "tuple",
        "range",
    ]:
        yield f"{name}()"
        yield f"{name}(1, 2, 3, 4)"


def random_expressions(count: int) -> Iterator[str]:
    chance = random.Random(17)
    leaves = [
        *map(parenthesise, NUMBERS),
        *OTHERS,
        "'x' * 3",
        "(5, 6, 7)[1]",
        "len('abc')",
        "4.0",
        "6",
        "9",
        "100",
    ]

    def make(depth: int) -> str:
        if depth == 0:
            number = chance.random() < 0.9
            return chance.choice(list(map(parenthesise, NUMBERS)) if number else leaves)
        a, b, c = (make(depth - 1) for _ in range(3))
        op = chance.choice(ARITHMETIC)
        ops = [chance.choice(COMPARISONS) for _ in range(2)]
        shapes = [
            f"({a} {ops[0]} {b} {ops[1]} {c})",
            f"({chance.choice(['-', '~', 'not ', '+'])}{a})",
            f"{chance.choice(['abs', 'int', 'float', 'bool', 'round'])}({a})",
            f"({a} {chance.choice(['and', 'or'])} {b})",
            f"({a} if {b} else {c})",
            f"[{a} for k in range({chance.randrange(3)})]",
            f"{chance.choice(['min', 'max', 'divmod'])}({a}, {b})",
        ]
        return chance.choice([*shapes, f"({a} {op} {b})", f"({a} {op} {b})"])

    for _ in range(count):
        yield make(chance.choice([1, 2, 2, 3]))


NAMES = {"inf": math.inf, "nan": math.nan, "math": math}


class TooWideError(Exception):
    """A value that is not held."""


def check(value: object) -> None:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise TooWideError
    if isinstance(value, tuple | list):
        for item in value:
            check(item)


def evaluate_text(text: str) -> str:
    try:
        value = eval(text, NAMES)
        check(value)
    except TooWideError:
        raise
    except Exception as error:  # noqa: BLE001, an expression may raise anything
        return f"!{type(error).__name__}: {error}"
    if isinstance(value, complex):
        return "!complex: "
    return repr(value)


def main() -> None:
    if sys.version_info[:2] != (3, 11):
        sys.exit("the table is of Python 3.11")
    lines = {}
    for text in itertools.chain(
        number_expressions(), mixed_expressions(), call_expressions(), random_expressions(9000)
    ):
        try:
            lines[text] = evaluate_text(text)
        except TooWideError:
            continue
    for text, result in lines.items():
        if "\n" in text + result or "\t" in text + result:
            sys.exit(f"no line: {text!r} gives {result!r}")
    table = "".join(f"{text}\t{result}\n" for text, result in lines.items())
    path = Path(__file__).with_name("cpython.txt.gz")
    path.write_bytes(gzip.compress(table.encode(), 9, mtime=0))
    print(f"{len(lines)} expressions, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
