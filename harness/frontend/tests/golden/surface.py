"""Small programs over the whole surface of the language, for `acceptance.py` to ask about.

An entry is a name, the dtypes that `p` is to have, and the body of a kernel `k(p, n, C: tl.constexpr)`, or a file that
defines `k`. An entry of one line is named by it. What an expression with a dtype gives is stored, so that no pass drops
it. Entries that are written by hand are in `surface_language.txt`.
"""

import re
from pathlib import Path

NUMBERS = "i1 i8 i32 i64 u32 f16 bf16 f32 f64 fp8e5"
FEW = "i1 i32 i64 f16 bf16 f32 fp8e5"
# What names mean, each set up where it is used.
NAMES = {
    "i": "tl.arange(0, 16)",
    "x": "tl.load(p + i)",
    "y": "tl.load(p + 16 + i)",
    "s": "tl.load(p)",
    "t": "tl.load(p + 1)",
    "one": "tl.load(p + tl.arange(0, 1))",
    "m": "tl.load(p + i[:, None] * 16 + i[None, :])",
    "w": "tl.load(p + i[:, None] * 16 + i[None, :] + 256)",
    "j": "tl.arange(0, 32)",
    "big": "tl.load(p + j[:, None] * 32 + j[None, :])",
    "two": "tl.load(p + i[:, None] * 2 + tl.arange(0, 2)[None, :])",
    "q": "p.to(tl.pointer_type(tl.int32))",
    "h": "tl.load(q)",
    "c": "i < 8",
}
written = {}
# Those that some versions are not asked about.
sampled = set()


def body(lines):
    """The lines behind what they need."""
    wanted, found = list(lines), set()
    while wanted:
        for word in re.findall(r"(?<![.\w])[a-z]+(?![\w(=])", wanted.pop()):
            if word in NAMES and word not in found:
                found.add(word)
                wanted.append(NAMES[word])
    order = ["i", "j", "q", *NAMES]
    setup = [f"{name} = {NAMES[name]}" for name in dict.fromkeys(order) if name in found]
    return setup + lines


def entry(name, lines, dtypes="", raw=False):
    lines = lines if raw else body(lines)
    if len(lines) == 1 and not dtypes:
        name = lines[0]
        if name in written:
            return
    assert name not in written, name
    written[name] = (dtypes, "\n".join(lines) + "\n")


def store(expression, shape, to="p"):
    """The expression's value, stored. `shape` is `s` (a scalar), `v` (16 elements), `m` (16 x 16) or `-` (not)."""
    where = {
        "s": to,
        "v": f"{to} + i",
        "m": f"{to} + i[:, None] * 16 + i[None, :]",
        "one": f"{to} + tl.arange(0, 1)",
        "two": f"{to} + i[:, None] * 2 + tl.arange(0, 2)[None, :]",
        "32": f"{to} + j",
        "8": f"{to} + tl.arange(0, 8)",
    }
    return [f"r = {expression}"] + ([f"tl.store({where[shape]}, r)"] if shape in where else [])


def over(expressions, dtypes):
    """Entries of lines `SHAPE TO EXPRESSION`, with a dtype's value each."""
    for line in expressions.strip().splitlines():
        shape, to, expression = line.split(None, 2)
        entry(expression, store(expression, shape, to), dtypes)


def operators():
    over("\n".join(f"v p {op}x" for op in ("-", "~", "not ")), NUMBERS)
    over("\n".join(f"s p {op}s" for op in ("-", "~", "not ")), FEW)
    for op in ("+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>"):
        over(f"v p x {op} y\ns p s {op} t", NUMBERS if op in "+*/%" else FEW)
    for op in ("<", "==", "and", "or"):
        over(f"v q x {op} y\ns q s {op} t", FEW)
    over(
        """
        v p x + 1
        v p x + 1.5
        v p x * True
        v q x < 2
        v q x == 0.5
        v p x // 2
        v p x % 2
        v p 1 / x
        v p x << 1
        v p x & 1
        v q x and 1
        s q s and 3
        s q s or 0
        s q s and True
        s q s and 1.5
        s q 3 and s
        """,
        FEW,
    )


def kinds():
    """Every operator between what an operand may be."""
    operands = {
        "int": "C",
        "float": "1.5",
        "bool": "True",
        "str": "'a'",
        "none": "None",
        "tuple": "(1, 2)",
        "list": "[1, 2]",
        "dtype": "tl.int32",
        "function": "g",
        "scalar": "n",
        "block": "i",
        "pointer": "p",
        "block of one": "tl.arange(0, 1)",
        "tuple of tensors": "(n, n)",
    }
    symbols = ["+", "-", "*", "/", "//", "%", "**", "<<", "&", "<", "==", "and", "or", "is", "in", "!="]
    for a, left in operands.items():
        for b, right in operands.items():
            for symbol in symbols:
                plain = ("int", "scalar", "block")
                if symbol not in ("+", "*", "==", "and", "in") and (a not in plain or b not in plain):
                    continue
                if "list" in (a, b) and "function" in (a, b) or a == b == "dtype":
                    continue
                if symbol in ("*", "in", "and") and a not in plain and b not in plain:
                    continue
                entry(f"{a} {symbol} {b}", [f"r: tl.constexpr = {left} {symbol} {right}"])
    for a, operand in operands.items():
        for symbol in ("-", "+", "~", "not "):
            entry(f"{symbol}{a}", [f"r: tl.constexpr = {symbol}{operand}"])
        entry(f"if {a}", [f"if {operand}:", "    tl.store(p, n)"])
        entry(f"ternary on {a}", [f"r = 1 if {operand} else 2", "tl.store(p, r)"])
        entry(f"while {a}", [f"while {operand}:", "    tl.store(p, n)"])
        entry(f"assigned {a}", [f"r = {operand}"])
        entry(f"annotated {a}", [f"r: tl.constexpr = {operand}"])
        entry(f"indexed {a}", [f"r: tl.constexpr = {operand}[0]"])
        entry(f"indexed from the end {a}", [f"r: tl.constexpr = {operand}[-1]"])
        entry(f"sliced {a}", [f"r: tl.constexpr = {operand}[0:1]"])
        entry(f"value of {a}", [f"r: tl.constexpr = {operand}.value"])
        entry(f"dtype of {a}", [f"r: tl.constexpr = {operand}.dtype"])
        entry(f"shape of {a}", [f"r: tl.constexpr = {operand}.shape"])
        entry(f"type of {a}", [f"r: tl.constexpr = {operand}.type"])
        entry(f"len of {a}", [f"r: tl.constexpr = len({operand})"])
        entry(f"iterated {a}", [f"for e in {operand}:", "    pass"])
        entry(f"comprehended {a}", [f"r: tl.constexpr = [e for e in {operand}]"])
        entry(f"loop over static range of {a}", [f"for e in tl.static_range({operand}):", "    pass"])
        entry(f"loop over range of {a}", [f"for e in range({operand}):", "    tl.store(p, e)"])
        entry(f"unpacked {a}", [f"u, v = {operand}"])
        entry(f"starred {a}", [f"r: tl.constexpr = g(*{operand})"])
        entry(f"passed {a}", [f"r: tl.constexpr = g({operand})"])
        entry(f"passed as constexpr {a}", [f"r: tl.constexpr = const_of(n, {operand})"])
        entry(f"printed {a}", [f"print('r', {operand})"])
        entry(f"device printed {a}", [f"tl.device_print('r', {operand})"])
        entry(f"static printed {a}", [f"tl.static_print({operand})"])
        entry(f"f-string of {a}", [f'tl.static_print(f"{{{operand}}}")'])
        entry(f"asserted {a}", [f"assert {operand}"])
        entry(f"static asserted {a}", [f"tl.static_assert({operand})"])
        entry(f"stored {a}", [f"tl.store(p, {operand})"])
        entry(f"constexpr of {a}", [f"r: tl.constexpr = tl.constexpr({operand})"])
        entry(f"value of a constexpr of {a}", [f"r: tl.constexpr = tl.constexpr({operand}).value"])
        entry(f"value of annotated {a}", [f"r: tl.constexpr = {operand}", "z: tl.constexpr = r.value"])
        entry(f"to_tensor of {a}", [f"r: tl.constexpr = tl.to_tensor({operand})"])
        for call in ("int", "float", "bool", "str", "min", "max", "abs", "list", "tuple", "range", "isinstance"):
            rest = {"min": ", 2", "max": ", 2", "isinstance": ", int"}.get(call, "")
            entry(f"{call} of {a}", [f"r: tl.constexpr = {call}({operand}{rest})"])
        for name in ("cdiv", "zeros_like", "abs", "max_contiguous", "multiple_of", "assume", "num_programs"):
            rest = {"cdiv": ", 2", "max_contiguous": ", 4", "multiple_of": ", 4"}.get(name, "")
            entry(f"tl.{name} of {a}", [f"r: tl.constexpr = tl.{name}({operand}{rest})"])
        entry(f"tl.where on {a}", [f"r: tl.constexpr = tl.where({operand}, 1, 2)"])
        entry(f"returned {a}", RETURNS.format(operand=operand.replace("n", "a")).splitlines(), raw=True)


RETURNS = """@triton.jit
def f(a, q):
    return {operand}


@triton.jit
def k(p, n, C: tl.constexpr):
    r: tl.constexpr = f(n, p)"""


def functions():
    """Every function of the language with every dtype."""
    over(
        """
        v p tl.abs(x)
        v p tl.exp(x)
        v p tl.exp2(x)
        v p tl.log(x)
        v p tl.log2(x)
        v p tl.cos(x)
        v p tl.sin(x)
        v p tl.sqrt(x)
        v p tl.sqrt_rn(x)
        v p tl.rsqrt(x)
        v p tl.erf(x)
        v p tl.floor(x)
        v p tl.ceil(x)
        v p tl.sigmoid(x)
        v p tl.softmax(x)
        v p tl.where(c, x, y)
        v p tl.where(x, x, y)
        v p tl.where(c, x, 0)
        v p tl.minimum(x, y)
        v p tl.maximum(x, y)
        v p tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)
        v p tl.clamp(x, y, y)
        v p tl.clamp(x, 0, 1)
        v p tl.fma(x, y, y)
        v p tl.umulhi(x, y)
        v p tl.div_rn(x, y)
        v p tl.fdiv(x, y)
        v p tl.fdiv(x, y, ieee_rounding=True)
        v p tl.cdiv(x, y)
        v p tl.cdiv(x, 2)
        v p tl.load(p + i, c)
        v p tl.load(p + i, c, 0)
        v p tl.load(p + i, c, other=0.0)
        v p tl.load(p + i, c, other=y)
        v p tl.zeros_like(x)
        v p tl.zeros((16,), x.dtype)
        v p tl.full((16,), 1, x.dtype)
        v p tl.full((16,), 1.5, x.dtype)
        v p tl.full((16,), s, x.dtype)
        v p tl.full((16,), s, tl.float32)
        v p tl.cast(x, tl.float32)
        v p tl.broadcast_to(s, (16,))
        v p tl.broadcast_to(one, (16,))
        m p tl.broadcast_to(x[:, None], (16, 16))
        v p tl.reshape(m, (256,)).reshape(16, 16).sum(0)
        m p tl.trans(m)
        m p m.T
        m p tl.permute(m, (1, 0))
        v p tl.flip(x, 0)
        m p tl.flip(m)
        v p tl.sort(x)
        v p tl.sort(x, descending=True)
        m p tl.sort(m)
        8 p tl.topk(x, 8)
        32 p tl.cat(x, y, can_reorder=True)
        32 p tl.cat(x, y)
        two p tl.join(x, y)
        32 p tl.interleave(x, y)
        v p tl.split(two)[0]
        v p tl.gather(x, i, 0)
        v p tl.ravel(m).reshape(16, 16).sum(0)
        s p tl.sum(x)
        v p tl.sum(m, 0)
        v p tl.sum(m, 1)
        s p tl.sum(x, dtype=tl.float32)
        s p tl.max(x, 0)
        s p tl.min(x, 0)
        v p tl.max(m, 1)
        s q tl.max(x, 0, return_indices=True)[1]
        s q tl.argmax(x, 0)
        s q tl.argmin(x, 0)
        s q tl.argmax(x, 0, tie_break_left=False)
        s p tl.xor_sum(x, 0)
        s p tl.reduce_or(x, 0)
        s p tl.reduce(x, 0, add)
        v p tl.associative_scan(x, 0, add)
        v p tl.cumsum(x, 0)
        v p tl.cumsum(x, 0, reverse=True)
        v p tl.cumprod(x, 0)
        v q tl.histogram(x, 16)
        v q tl.histogram(x, 16, mask=c)
        m p tl.expand_dims(x, 0) + tl.expand_dims(y, 1)
        v p tl.multiple_of(x, 16)
        v p tl.max_contiguous(x, 16)
        v p tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], dtype=x.dtype, is_pure=True, pack=1)
        v q tl.load(q + x)
        v p tl.rand(x, i)
        v p tl.rand(n, x)
        v p tl.randn(n, x)
        v p tl.randint(n, x)
        v p tl.randint4x(n, x)[0]
        v p tl.uint_to_uniform_float(x)
        v p tl.map_elementwise(add, x, y)
        v p tl.atomic_add(p + i, x)
        v p tl.atomic_max(p + i, x)
        v p tl.atomic_min(p + i, x)
        v p tl.atomic_and(p + i, x)
        v p tl.atomic_or(p + i, x)
        v p tl.atomic_xor(p + i, x)
        v p tl.atomic_xchg(p + i, x)
        v p tl.atomic_cas(p + i, x, y)
        v p tl.atomic_add(p + i, x, c)
        v p tl.atomic_add(p + i, 1)
        s p tl.atomic_add(p, s)
        s p tl.atomic_max(p, s)
        s p tl.atomic_xchg(p, s)
        s p tl.atomic_cas(p, s, t)
        s p tl.atomic_cas(p, 0, 1)
        """,
        NUMBERS,
    )
    entry("store with a mask", ["tl.store(p + i, x, c)"], NUMBERS)
    entry("store of an int", ["tl.store(p + i, 1)"], NUMBERS)
    entry("store of a float", ["tl.store(p + i, 1.5)"], NUMBERS)
    entry("store of a scalar", ["tl.store(p + i, s)"], NUMBERS)
    entry("device print of a block", ["tl.device_print('x', x)"], NUMBERS)
    entry("device print of hex", ["tl.device_print('x', x, hex=True)"], FEW)
    entry("assert of a block", ["tl.device_assert(x == x)"], FEW)
    entry("assume of a comparison", ["tl.assume(s > 0)", "tl.store(p, s)"], FEW)
    entry("branch on a value", ["if s:", "    tl.store(p, s)"], NUMBERS)
    entry("loop on a value", ["while s > 0:", "    s -= 1", "tl.store(p, s)"], FEW)
    entry("range of a value", ["for e in range(s):", "    tl.store(p, s)"], NUMBERS)
    entry("ternary of values", ["r = s if n > 3 else t", "tl.store(p, r)"], NUMBERS)
    entry("carried value", ["for e in range(n):", "    x += y", "tl.store(p + i, x)"], NUMBERS)
    entry("value through a call", ["tl.store(p + i, add(x, y))"], NUMBERS)
    entry("value through a noinline call", ["tl.store(p, far(s))"], NUMBERS)
    entry("value through a branch", ["r = s", "if n > 3:", "    r = t", "tl.store(p, r)"], NUMBERS)
    for dtype in (
        "int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 float8e4nv "
        "float8e5 float8e4b15"
    ).split():
        at = f"p.to(tl.pointer_type(tl.{dtype}))"
        entry(f"x.to({dtype})", [f"tl.store({at} + i, x.to(tl.{dtype}))"], NUMBERS)
        entry(f"bitcast to {dtype}", [f"tl.store({at} + i, x.to(tl.{dtype}, bitcast=True))"], FEW + " i8 fp8e4nv")
    for mode in ("rtz", "rtne"):
        for to in ("float16", "bfloat16", "float8e5", "float8e4nv"):
            at = f"p.to(tl.pointer_type(tl.{to}))"
            text = f"tl.store({at} + i, x.to(tl.{to}, fp_downcast_rounding='{mode}'))"
            entry(f"x.to({to}) rounding {mode}", [text], "f16 bf16 f32 f64 i32")


def edges():
    """Functions of blocks of one element, of scalars, of numbers, of pointers, of tuples, along wrong axes."""
    calls = {
        "flip": "tl.flip({}, {})",
        "flip last": "tl.flip({})",
        "sort": "tl.sort({}, {})",
        "sort last": "tl.sort({})",
        "topk": "tl.topk({}, 1)",
        "sum": "tl.sum({}, {})",
        "sum all": "tl.sum({})",
        "sum kept": "tl.sum({}, {}, keep_dims=True)",
        "max": "tl.max({}, {})",
        "max with index": "tl.max({}, {}, return_indices=True)",
        "argmax": "tl.argmax({}, {})",
        "xor_sum": "tl.xor_sum({}, {})",
        "reduce": "tl.reduce({}, {}, add)",
        "scan": "tl.associative_scan({}, {}, add)",
        "cumsum": "tl.cumsum({}, {})",
        "cumprod": "tl.cumprod({}, {})",
        "softmax": "tl.softmax({})",
        "histogram": "tl.histogram({}, 16)",
        "gather": "tl.gather({0}, {0}, {1})",
        "cat": "tl.cat({0}, {0}, can_reorder=True)",
        "join": "tl.join({0}, {0})",
        "interleave": "tl.interleave({0}, {0})",
        "split": "tl.split({})",
        "trans": "tl.trans({})",
        "permute": "tl.permute({}, 0)",
        "reshape": "tl.reshape({}, (1,))",
        "reshape to nothing": "tl.reshape({}, ())",
        "view": "tl.view({}, (1,))",
        "ravel": "tl.ravel({})",
        "broadcast_to": "tl.broadcast_to({}, (16,))",
        "broadcast": "tl.broadcast({}, tl.arange(0, 16))",
        "expand_dims": "tl.expand_dims({}, {})",
        "squeeze": "tl.squeeze({}, {})",
        "where": "tl.where(n > 3, {0}, {0})",
        "minimum": "tl.minimum({0}, {0})",
        "clamp": "tl.clamp({0}, {0}, {0})",
        "exp": "tl.exp({})",
        "abs": "tl.abs({})",
        "cast": "tl.cast({}, tl.float32)",
        "zeros_like": "tl.zeros_like({})",
        "full": "tl.full((4,), {}, tl.float32)",
        "dot": "tl.dot({0}, {0})",
        "load": "tl.load({})",
        "load at": "tl.load(p + {})",
        "atomic": "tl.atomic_add(p, {})",
        "atomic at": "tl.atomic_add(p + {}, 1)",
        "program_id": "tl.program_id({})",
        "arange": "tl.arange(0, {})",
        "zeros": "tl.zeros(({},), tl.int32)",
        "rand": "tl.rand({0}, {0})",
        "cdiv": "tl.cdiv({}, 2)",
        "divided cdiv": "tl.cdiv({}, 2) / 2",
        "max_contiguous": "tl.max_contiguous({}, 1)",
        "multiple_of": "tl.multiple_of({}, 1)",
        "fma": "tl.fma({0}, {0}, {0})",
        "umulhi": "tl.umulhi({0}, {0})",
        "swizzle2d": "tl.swizzle2d({0}, {0}, 4, 4, 2)",
        "device_assert": "tl.device_assert({})",
        "item": "{}.item()",
        "call of the method": "{}.sum({})",
        "flip method": "{}.flip()",
        "T": "{}.T",
        "numel": "{}.numel",
        "to": "{}.to(tl.float32)",
        "index none": "{}[None]",
        "index none, colon": "{}[None, :]",
        "index colon": "{}[:]",
        "index ellipsis": "{}[...]",
        "index zero": "{}[0]",
        "index block": "{}[tl.arange(0, 1)]",
    }
    values = {
        "a number": "3",
        "a float": "1.5",
        "a constexpr": "C",
        "a scalar": "n",
        "a block of one": "tl.arange(0, 1)",
        "a float block of one": "tl.full((1,), 1.5, tl.float32)",
        "a block of 1 by 1": "tl.zeros((1, 1), tl.int32)",
        "a block of 1 by 4": "tl.zeros((1, 4), tl.float32)",
        "a block of bools": "(tl.arange(0, 4) > 1)",
        "a pointer": "p",
        "a block of pointers": "(p + tl.arange(0, 4))",
        "a tuple": "(n, 1)",
        "none": "None",
    }
    for function, call in calls.items():
        for what, value in values.items():
            entry(f"{function} of {what}", [f"r: tl.constexpr = {call.format(value, 0)}"])
    for function, call in calls.items():
        if "{}, {}" in call or "{1}" in call:
            for axis in ("-1", "1", "2", "None", "n", "(0, 1)", "'x'", "1.0"):
                entry(f"{function} along {axis}", [f"r: tl.constexpr = {call.format('tl.zeros((2, 4), tl.int32)', axis)}"])


def used_edges():
    """Some of those with their result stored: what passes drop unused, they may refuse used."""
    over(
        """
        one p tl.flip(one, 0)
        one p tl.sort(one)
        s p tl.sum(one)
        s p tl.sum(s)
        s p tl.max(one, 0)
        s q tl.argmax(one, 0)
        one p tl.cumsum(one, 0)
        one p tl.associative_scan(one, 0, add)
        one p tl.softmax(one)
        one q tl.histogram(one, 1)
        8 q tl.histogram(one, 8)
        one p tl.gather(one, tl.arange(0, 1), 0)
        one p tl.reshape(s, (1,))
        one p tl.trans(one[None, :]).reshape(1)
        s p tl.reshape(one, ())
        s p tl.sum(tl.join(s, t))
        s p tl.split(tl.join(s, t))[0]
        one p one + s
        one p one.to(tl.float32)
        """,
        "i32 f32 f16 i1 fp8e5",
    )
    entry("if block of one element used", ["if tl.arange(0, 1) == 0:", "    tl.store(p, n)"])
    entry("while block of one element used", ["e = tl.arange(0, 1)", "while e < 3:", "    e += 1", "tl.store(p + e, n)"])
    entry("ternary on a block of one element", ["r = 1 if tl.arange(0, 1) == 0 else 2", "tl.store(p, r)"])
    entry("not of a block of one element", ["r = not (tl.arange(0, 1) == 0)", "tl.store(p + tl.arange(0, 1), r)"])


def dots():
    zeros = "tl.zeros(({}, {}), tl.{})"
    load = "tl.load(p + tl.arange(0, {0})[:, None] * {1} + tl.arange(0, {1})[None, :])"
    keep = "tl.store(q + tl.arange(0, {0})[:, None] * {1} + tl.arange(0, {1})[None, :], r)"
    for m, n, k in (
        (16, 16, 16), (16, 16, 32), (32, 32, 32), (8, 16, 16), (16, 8, 16), (16, 16, 8), (16, 16, 4), (1, 1, 1),
        (4, 4, 16), (2, 16, 32), (16, 16, 1), (64, 64, 16), (128, 64, 32), (16, 16, 64),
    ):  # fmt: skip
        lines = [f"a = {load.format(m, k)}", f"b = {load.format(k, n)}", "r = tl.dot(a, b)", keep.format(m, n)]
        entry(f"dot {m} {n} {k}", lines, "f16 bf16 f32 i8 u8 f64 fp8e5 fp8e4nv fp8e4b15")
    for acc in ("float16", "bfloat16", "float32", "float64", "int32", "int8", "int64"):
        lines = [f"acc = {zeros.format(32, 32, acc)}", "r = tl.dot(big, big, acc)", keep.format(32, 32)]
        entry(f"dot onto {acc}", lines, "f16 bf16 f32 i8 u8 f64 i16 i32 fp8e5 fp8e4nv fp8e4b15")
        lines = [f"r = tl.dot(big, big, out_dtype=tl.{acc})", keep.format(32, 32)]
        entry(f"dot as {acc}", lines, "f16 bf16 f32 i8 f64 i32 fp8e5")
        lines = [f"acc = {zeros.format(32, 32, acc)}", f"r = tl.dot(big, big, acc, out_dtype=tl.{acc})", keep.format(32, 32)]
        entry(f"dot onto and as {acc}", lines, "f16 bf16 f32 i8 f64 fp8e5")
    for precision in ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6", "none"):
        lines = [f"r = tl.dot(big, big, input_precision='{precision}')", keep.format(32, 32)]
        entry(f"dot with {precision}", lines, "f16 bf16 f32 i8 f64 fp8e5")
    for other in ("float16", "bfloat16", "float32", "int8", "uint8", "float8e5", "float8e4nv", "float8e4b15", "int32"):
        lines = [f"b = {zeros.format(32, 32, other)}", "r = tl.dot(big, b)", keep.format(32, 32)]
        entry(f"dot by {other}", lines, "f16 bf16 f32 i8 u8 fp8e5 fp8e4nv")
    lines = ["a = tl.zeros((2, 16, 16), p.dtype.element_ty)", "r = tl.dot(a, a)"]
    lines.append("tl.store(q + tl.arange(0, 2)[:, None, None] * 256 + i[None, :, None] * 16 + i[None, None, :], r)")
    entry("dot of batches", lines, "f16 bf16 f32 i8 f64 fp8e5")
    for option in ("allow_tf32=False", "allow_tf32=True", "max_num_imprecise_acc=16", "max_num_imprecise_acc=None"):
        entry(f"dot with {option}", [f"r = tl.dot(big, big, {option})", keep.format(32, 32)], "f16 f32 fp8e5 i8")
    entry("dot with both precisions", ["r = tl.dot(big, big, allow_tf32=True, input_precision='ieee')"], "f32")


def language():
    """Features of the language that versions differ in, or may."""
    programs = Path(__file__).with_name("surface_language.txt").read_text()
    for text in re.split(r"^=== ", programs, flags=re.M)[1:]:
        name, lines = text.split("\n", 1)
        entry(name, lines.rstrip("\n").split("\n"), raw=True)


def names():
    """Names of `tl` in a branch that is not taken, read and called."""
    tl = (
        "abs add advance aggregate_replace arange argmax argmin associative_scan assume atomic_add atomic_load "
        "atomic_poll atomic_store bitonic_merge block_type broadcast cast cat cdiv clamp condition constexpr "
        "const cumprod cumsum debug_barrier descriptor_load device_assert div_rn dot dot_scaled dtype erf exp "
        "expect_zero expand_dims extra fdiv flip float8e4b8 float8e5b16 floor fma full gather histogram interleave "
        "join load load_tensor_descriptor log make_block_ptr make_tensor_descriptor map_elementwise math "
        "max_constancy mul nosuchname num_programs permute philox pi32_t PropagateNan rand ravel reduce reduce_or "
        "range reshape sigmoid slice softmax sort split squeeze static_range store_tensor_descriptor sub "
        "swizzle2d target_info tensor tensor_descriptor to_tensor topk trans tuple umulhi unsqueeze view void "
        "warp_specialize where xor_sum zeros async_task _experimental_descriptor_load "
        "_experimental_make_tensor_descriptor TRITON_MAX_TENSOR_NUMEL str_to_ty constexpr_type constexpr_function"
    ).split()
    for name in tl:
        entry(f"name {name} not taken", ["if C == 4:", f"    r: tl.constexpr = tl.{name}"], raw=True)
        entry(f"name {name} called, not taken", ["if C == 4:", f"    tl.{name}(n)"], raw=True)
    for name in "abs cdiv exp fast_expf pow isnan tanh sqrt nosuchname".split():
        for module in ("tl.math", "tl.extra.libdevice", "tl.extra.cuda.libdevice", "tl.standard", "tl.core"):
            entry(f"name {module}.{name}", [f"r: tl.constexpr = {module}.{name}"], raw=True)
    tensor = (
        "abs add argmax argmin associative_scan astype atomic_add atomic_cas broadcast_to cast cdiv ceil cos "
        "cumprod cumsum data device dim dtype erf exp exp2 expand_dims flip floor gather handle histogram item "
        "item_ numel log logical_and logical_or log2 max min nosuchname permute ravel reduce reduce_or reshape "
        "rsqrt shape sigmoid sin softmax sort split sqrt squeeze store sum T to trans type unsqueeze value view "
        "xor_sum"
    ).split()
    for name in tensor:
        entry(f"attribute {name}", [f"r: tl.constexpr = n.{name}"], raw=True)
        entry(f"attribute {name} of a block", [f"r: tl.constexpr = tl.zeros((4, 4), tl.float32).{name}"], raw=True)
        entry(f"method {name} of a block", [f"r: tl.constexpr = tl.zeros((4, 4), tl.float32).{name}()"], raw=True)
        entry(f"method {name} along 0", [f"r: tl.constexpr = tl.zeros((4, 4), tl.int32).{name}(0)"], raw=True)
    constexpr = "value type dtype shape to numel __add__ nosuchname bit_length real is_integer upper handle".split()
    for name in constexpr:
        entry(f"attribute {name} of a constexpr", [f"r: tl.constexpr = C.{name}"], raw=True)
    for name in "min max len int float print range list isinstance getattr hasattr bool str abs sum tuple zip".split():
        entry(f"python's {name}", [f"r: tl.constexpr = {name}"], raw=True)
        entry(f"python's {name} not taken", ["if C == 4:", f"    r: tl.constexpr = {name}"], raw=True)
    signatures = """
        tl.load(p, cache_modifier=".ca")
        tl.load(p, cache_modifier=".cg")
        tl.load(p, cache_modifier=".cv")
        tl.load(p, cache_modifier=".cs")
        tl.load(p, cache_modifier=".xx")
        tl.load(p, eviction_policy="evict_last")
        tl.load(p, eviction_policy="evict_normal")
        tl.load(p, eviction_policy="nothing")
        tl.load(p, volatile=True)
        tl.load(p, boundary_check=(0,))
        tl.load(p, padding_option="zero")
        tl.load(p, None, 0)
        tl.load(p, n > 3, None)
        tl.store(p, n, cache_modifier=".wb")
        tl.store(p, n, cache_modifier=".cg")
        tl.store(p, n, cache_modifier=".cs")
        tl.store(p, n, cache_modifier=".wt")
        tl.store(p, n, cache_modifier=".ca")
        tl.store(p, n, eviction_policy="evict_first")
        tl.store(p, n, eviction_policy="nothing")
        tl.store(p, n, None)
        tl.store(p, n, True)
        tl.store(p, n, False)
        tl.atomic_add(p, n, sem="relaxed")
        tl.atomic_add(p, n, sem="acquire")
        tl.atomic_add(p, n, sem="release")
        tl.atomic_add(p, n, sem="acq_rel")
        tl.atomic_add(p, n, sem="seq_cst")
        tl.atomic_add(p, n, scope="gpu")
        tl.atomic_add(p, n, scope="sys")
        tl.atomic_add(p, n, scope="cta")
        tl.atomic_add(p, n, None)
        tl.atomic_add(p, n, True)
        tl.atomic_add(p, n, n > 3)
        tl.atomic_cas(p, n, n, sem="relaxed", scope="cta")
        tl.sum(tl.arange(0, 4), axis=0, keep_dims=True)
        tl.sum(tl.arange(0, 4), axis=0, dtype=tl.int64)
        tl.sum(tl.arange(0, 4), 0, False, tl.int64)
        tl.max(tl.arange(0, 4), axis=0, return_indices=True, return_indices_tie_break_left=False)
        tl.max(tl.arange(0, 4), axis=0, keep_dims=True)
        tl.argmax(tl.arange(0, 4), axis=0, keep_dims=True)
        tl.argmax(tl.arange(0, 4), 0, tie_break_left=True)
        tl.cumsum(tl.arange(0, 4), 0, reverse=True)
        tl.cumsum(tl.arange(0, 4), 0, dtype=tl.int64)
        tl.cumprod(tl.arange(0, 4), 0, True)
        tl.reduce(tl.arange(0, 4), 0, add, keep_dims=True)
        tl.reduce((tl.arange(0, 4), tl.arange(0, 4)), 0, add2)
        tl.associative_scan((tl.arange(0, 4), tl.arange(0, 4)), 0, add2)
        tl.associative_scan(tl.arange(0, 4), 0, add, reverse=True)
        tl.sort(tl.arange(0, 4), dim=0, descending=True)
        tl.sort(tl.arange(0, 4), descending=n > 3)
        tl.histogram(tl.arange(0, 4), num_bins=8)
        tl.histogram(tl.arange(0, 4), 8, mask=tl.arange(0, 4) > 1)
        tl.histogram(tl.arange(0, 4), 6)
        tl.histogram(tl.arange(0, 4), 1)
        tl.histogram(tl.arange(0, 4), 0)
        tl.histogram(tl.arange(0, 4), 4096)
        tl.cat(tl.arange(0, 4), tl.arange(0, 4))
        tl.cat(tl.arange(0, 4), tl.arange(0, 8), can_reorder=True)
        tl.cat(tl.arange(0, 4), tl.arange(0, 4), can_reorder=False)
        tl.cat(tl.arange(0, 4), tl.arange(0, 4), dim=0)
        tl.cat(tl.zeros((2, 4), tl.int32), tl.zeros((2, 4), tl.int32), can_reorder=True)
        tl.reshape(tl.arange(0, 4), 2, 2)
        tl.reshape(tl.arange(0, 4), (2, 2))
        tl.reshape(tl.arange(0, 4), [2, 2])
        tl.reshape(tl.arange(0, 4), (2, 2), can_reorder=True)
        tl.reshape(tl.arange(0, 4), (-1,))
        tl.view(tl.arange(0, 4), 2, 2)
        tl.arange(0, 4).view(2, 2)
        tl.arange(0, 4).reshape(2, 2)
        tl.arange(0, 4).reshape((2, 2))
        tl.trans(tl.zeros((2, 4), tl.int32), 1, 0)
        tl.trans(tl.zeros((2, 4), tl.int32), (1, 0))
        tl.trans(tl.zeros((2, 4, 8), tl.int32))
        tl.trans(tl.zeros((2, 4, 8), tl.int32), 2, 1, 0)
        tl.permute(tl.zeros((2, 4), tl.int32), 1, 0)
        tl.permute(tl.zeros((2, 4), tl.int32), 0, 0)
        tl.permute(tl.zeros((2, 4), tl.int32), -1, 0)
        tl.broadcast_to(tl.zeros((1, 4), tl.int32), 2, 4)
        tl.broadcast_to(tl.zeros((1, 4), tl.int32), (2, 4))
        tl.broadcast_to(tl.zeros((4,), tl.int32), (2, 4))
        tl.broadcast_to(n, (2, 4))
        tl.broadcast_to(n, 2)
        tl.expand_dims(tl.arange(0, 4), (0, 1))
        tl.expand_dims(tl.arange(0, 4), [0, 2])
        tl.expand_dims(tl.arange(0, 4), -1)
        tl.full((4,), 1, tl.int32)
        tl.full([4], 1, dtype=tl.int32)
        tl.full(4, 1, tl.int32)
        tl.full((4,), 1, None)
        tl.full((3,), 1, tl.int32)
        tl.full((), 1, tl.int32)
        tl.full((0,), 1, tl.int32)
        tl.zeros((), tl.int32)
        tl.zeros((4,))
        tl.zeros(4, tl.int32)
        tl.zeros([4, 4], dtype=tl.float32)
        tl.zeros((n,), tl.int32)
        tl.zeros((2**20,), tl.int8)
        tl.zeros((2**21,), tl.int8)
        tl.zeros((2, 2, 2, 2, 2), tl.int8)
        tl.zeros((1.0,), tl.int8)
        tl.zeros((True,), tl.int8)
        tl.arange(0, 3)
        tl.arange(1, 5)
        tl.arange(4, 0)
        tl.arange(0, 0)
        tl.arange(4, 4)
        tl.arange(4)
        tl.arange(start=0, end=4)
        tl.arange(-4, 0)
        tl.arange(0, 2**21)
        tl.arange(0, 2**20)
        tl.arange(2**31, 2**31 + 4)
        tl.arange(0.0, 4.0)
        tl.arange(False, True)
        tl.program_id(3)
        tl.program_id(-1)
        tl.program_id("x")
        tl.num_programs(2)
        tl.dot(tl.zeros((16, 16), tl.float16), tl.zeros((16, 16), tl.float16), acc=None)
        tl.device_print("x")
        tl.device_print("")
        tl.device_print(n)
        tl.device_print("x", n, 1.5, C)
        tl.device_print("x", hex=True)
        tl.device_assert(n > 3, "no")
        tl.device_assert(n > 3, "no", n < 4)
        tl.device_assert(n > 3, mask=n < 4)
        tl.static_print("x", sep="")
        tl.debug_barrier()
        tl.max_constancy(tl.arange(0, 4), 4)
        tl.max_contiguous(tl.arange(0, 4), [4])
        tl.multiple_of(n, 16)
        tl.multiple_of(p, 16)
        tl.multiple_of(n, [16])
        tl.multiple_of(n, (16,))
        tl.assume(n > 3)
        tl.assume(C > 3)
        tl.assume(True)
        tl.clamp(1.5, 0.0, 1.0)
        tl.clamp(n, 0, 1)
        tl.softmax(tl.zeros((4, 4), tl.float32), ieee_rounding=True)
        tl.softmax(tl.zeros((4, 4), tl.float32), dim=0)
        tl.softmax(tl.zeros((4, 4), tl.float32), 0, keep_dims=True)
        tl.rand(n, tl.arange(0, 4), 5)
        tl.rand(n, tl.arange(0, 4), n_rounds=5)
        tl.rand(2**40, tl.arange(0, 4))
        tl.randint(C, n)
        tl.philox(C, n, n, n, n)
        tl.swizzle2d(1, 2, 4, 4, 2)
        tl.swizzle2d(n, 2, 4, 4, 2)
        tl.cdiv(7, 2)
        tl.cdiv(C, 2)
        tl.cdiv(n, 2)
        tl.cdiv(7.0, 2)
        tl.fdiv(1.0, 2.0)
        tl.fdiv(n, 2)
        tl.fdiv(n * 1.0, 2)
        tl.fma(1.0, 2.0, 3.0)
        tl.exp(2)
        tl.exp(C)
        tl.sqrt(2.0)
        tl.abs(-1)
        tl.abs(-1.5)
        tl.abs(C)
        tl.minimum(1, 2)
        tl.maximum(C, 2)
        tl.maximum(1.0, 2)
        tl.maximum(n, 2.5)
        tl.where(True, 1, 2)
        tl.where(C > 2, n, 2)
        tl.where(n > 2, 1, 2.5)
        tl.where(n, p, p)
        tl.umulhi(n, n)
        tl.umulhi(1, 2)
        tl.math.abs(n)
        tl.math.cdiv(n, 2)
        tl.math.cdiv(C, 2)
        tl.math.max(n, 2)
        tl.math.min(n, 2)
        tl.math.pow(n * 1.0, 2.0)
        tl.math.rsqrt(n * 1.0)
        tl.math.tanh(n * 1.0)
        tl.pointer_type(tl.int32)
        tl.pointer_type(tl.int32, 1)
        tl.pointer_type(tl.int32, const=True)
        tl.block_type(tl.int32, [4])
        tl.block_type(tl.int32, (4,))
        tl.block_type(tl.int32, [])
        tl.dtype("int32")
        tl.dtype("fp32")
        tl.tuple((1, 2))
        tl.tuple([1, 2])
        tl.gather(tl.arange(0, 4), tl.arange(0, 8), 0)
        tl.gather(tl.arange(0, 4), tl.arange(0, 4).to(tl.int64), 0)
        tl.gather(tl.arange(0, 4), tl.arange(0, 4).to(tl.int16), 0)
        tl.gather(tl.arange(0, 4), tl.arange(0, 4).to(tl.uint32), 0)
        tl.gather(tl.zeros((2, 4), tl.int32), tl.zeros((4,), tl.int32), 0)
        tl.gather(tl.zeros((2, 4), tl.int32), tl.zeros((4, 4), tl.int32), 0)
        tl.gather(tl.zeros((2, 4), tl.int32), tl.zeros((4, 4), tl.int32), 1)
        tl.join(n, 1.5)
        tl.join(tl.arange(0, 4), n)
        tl.join(tl.arange(0, 4), tl.zeros((4,), tl.float32))
        tl.interleave(tl.zeros((2, 4), tl.int32), tl.zeros((2, 4), tl.int32))
        tl.split(tl.zeros((2,), tl.int32))
        tl.split(tl.zeros((4, 4), tl.int32))
        tl.flip(tl.zeros((2, 4), tl.int32), 0)
        tl.flip(tl.zeros((2, 4), tl.int32), 1)
        tl.flip(tl.zeros((2, 1), tl.int32), 1)
        tl.flip(tl.zeros((1, 2), tl.int32), 0)
        tl.sort(tl.zeros((2, 4), tl.int32), 0)
        tl.sort(tl.zeros((2, 1), tl.int32))
        tl.topk(tl.zeros((2, 4), tl.int32), 2)
        tl.topk(tl.zeros((4,), tl.int32), 4)
        tl.topk(tl.zeros((4,), tl.int32), 8)
        tl.topk(tl.zeros((4,), tl.int32), 3)
        tl.inline_asm_elementwise("mov.b32 $0, 1;", "=r", [], dtype=tl.int32, is_pure=True, pack=1)
        n.to(tl.float32, None, True)
        n.to(dtype=tl.float32)
        n.to(tl.int32, bitcast=True)
        n.to("fp32")
        n.to(float)
        n.to(p.dtype)
        p.to(tl.int64)
        p.to(tl.pointer_type(tl.float32), bitcast=True)
        tl.arange(0, 4)[None]
        tl.arange(0, 4)[:, None, None]
        tl.arange(0, 4)[None, :, None]
        tl.arange(0, 4)[0]
        tl.arange(0, 4)[0:2]
        tl.arange(0, 4)[:, :]
        tl.arange(0, 4)[...]
        tl.zeros((2, 4), tl.int32)[:, :, None]
        tl.zeros((2, 4), tl.int32)[:, None, :]
        tl.zeros((2, 4), tl.int32)[None]
        n[None]
        n[None, None]
        """
    for line in signatures.strip().splitlines():
        entry(line.strip(), [f"r: tl.constexpr = {line.strip()}"], raw=True)


def of_the_language():
    """The names of entries that every version is asked about."""
    list(entries())
    return {name for name in written if name not in sampled}


def entries():
    """Every entry's name, dtypes and text."""
    if not written:
        for part in (language, names):
            part()
        known = set(written)
        for part in (edges, used_edges, kinds, operators, functions, dots):
            part()
        sampled.update(set(written) - known)
    for name, (dtypes, text) in written.items():
        yield name, dtypes, text
