"""Writes what Triton's typed semantics make of every operator, pair of dtypes and Python number.

Run by hand, in an environment with the Triton whose rules are wanted; no GPU is needed. With a second file, only what
differs from it is written:

    python promotion.py promotion_3.9.0.json
    python promotion.py promotion_3.2.0.json promotion_3.9.0.json

Each key is an expression over `x` and `y`, tensors of the dtypes that follow; each value is the result's dtype, or
`rejected` when the compiler raises or its IR does not verify.
"""

import json
import sys
import warnings

import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.language import semantic as triton_semantic

# fp8e4b8 and fp8e5b16 have no CUDA target.
DTYPES = [
    tl.int1, tl.int8, tl.int16, tl.int32, tl.int64, tl.uint8, tl.uint16, tl.uint32, tl.uint64, tl.float16, tl.bfloat16,
    tl.float32, tl.float64, tl.float8e4nv, tl.float8e5
]
NUMBERS = ["True", "3", "-1", "300", "70000", "2147483648", "4294967296", "1.5", "1e300"]
OPERATORS = {
    "+": ("__add__", "__radd__"),
    "-": ("__sub__", "__rsub__"),
    "*": ("__mul__", "__rmul__"),
    "/": ("__truediv__", "__rtruediv__"),
    "//": ("__floordiv__", "__rfloordiv__"),
    "%": ("__mod__", "__rmod__"),
    "&": ("__and__", "__rand__"),
    "|": ("__or__", "__ror__"),
    "^": ("__xor__", "__rxor__"),
    "<<": ("__lshift__", "__rlshift__"),
    ">>": ("__rshift__", "__rrshift__"),
    "<": ("__lt__", "__gt__"),
    "==": ("__eq__", "__eq__"),
}
FUNCTIONS = {
    "tl.minimum": tl.minimum,
    "tl.where": lambda x, y, **s: tl.where(tl.constexpr(True), x, y, **s),
    "tl.fdiv": tl.fdiv,
}
UNARY = {"-": "__neg__", "~": "__invert__", "not ": "__not__"}


CONTEXT = ir.context()
ir.load_dialects(CONTEXT)
BACKEND = CUDABackend(GPUTarget("cuda", 90, 32))
BACKEND.load_dialects(CONTEXT)
# Before 3.4, builtins took the builder itself.
OLD = not hasattr(triton_semantic, "TritonSemantic")
OPTIONS = BACKEND.parse_options({})


KEYWORD = "_builder" if OLD else "_semantic"


def attempt(dtypes, build):
    """The dtype of what `build` makes of tensors of these dtypes."""
    builder = ir.builder(CONTEXT)
    builder.options = OPTIONS
    try:
        builder.codegen_fns = BACKEND.get_codegen_implementation(OPTIONS)
    except TypeError:
        builder.codegen_fns = BACKEND.get_codegen_implementation()
    semantic = builder if OLD else triton_semantic.TritonSemantic(builder)
    module = builder.create_module()
    builder.set_loc("golden.py", 1, 1)
    types = [tl.block_type(dtype, [4]) for dtype in dtypes]
    try:
        prototype = builder.get_function_ty([ty.to_ir(builder) for ty in types], [])
        function = builder.get_or_insert_function(module, "golden", prototype, "public", False)
        module.push_back(function)
        builder.set_insertion_point_to_start(function.add_entry_block())
        result = build(semantic, *[tl.tensor(function.args(nth), ty) for nth, ty in enumerate(types)])
        builder.ret([])
        return result.dtype.name if module.verify() else "rejected"
    except (TypeError, ValueError, AssertionError, AttributeError, KeyError, RuntimeError,
            triton_semantic.IncompatibleTypeErrorImpl):
        return "rejected"


def main():
    warnings.simplefilter("ignore")
    table = {}
    for symbol, (forward, reflected) in OPERATORS.items():
        for x in DTYPES:
            for y in DTYPES:
                table[f"x {symbol} y", x, y] = attempt([x, y], lambda s, a, b: getattr(a, forward)(b, **{KEYWORD: s}))
            for text in NUMBERS:
                number = tl.constexpr(eval(text))
                table[f"x {symbol} {text}", x] = attempt([x], lambda s, a: getattr(a, forward)(number, **{KEYWORD: s}))
                table[f"{text} {symbol} x", x] = attempt([x], lambda s, a: getattr(a, reflected)(number, **{KEYWORD: s}))
    for name, function in FUNCTIONS.items():
        for x in DTYPES:
            for y in DTYPES:
                table[f"{name}(x, y)", x, y] = attempt([x, y], lambda s, a, b: function(a, b, **{KEYWORD: s}))
            for text in NUMBERS:
                number = tl.constexpr(eval(text))
                table[f"{name}(x, {text})", x] = attempt([x], lambda s, a: function(a, number, **{KEYWORD: s}))
                table[f"{name}({text}, x)", x] = attempt([x], lambda s, a: function(number, a, **{KEYWORD: s}))
    for symbol, method in UNARY.items():
        for x in DTYPES:
            table[f"{symbol}x", x] = attempt([x], lambda s, a: getattr(a, method)(**{KEYWORD: s}))
    for x in DTYPES:
        for y in DTYPES:
            table[f"x.to(tl.{long_name(y)})", x] = attempt([x], lambda s, a: a.to(y, **{KEYWORD: s}))
            table[f"x.to(tl.{long_name(y)}, bitcast=True)", x] = attempt(
                [x], lambda s, a: a.to(y, bitcast=True, **{KEYWORD: s}))
    table = {" ; ".join([key[0]] + [long_name(dtype) for dtype in key[1:]]): value for key, value in table.items()}
    if len(sys.argv) > 2:
        with open(sys.argv[2]) as base:
            base = json.load(base)
        table = {key: value for key, value in table.items() if base[key] != value}
    entries = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in table.items()]
    with open(sys.argv[1], "w") as out:
        out.write("{\n" + ",\n".join([f'  "triton": "{triton.__version__}"'] + entries) + "\n}\n")


def long_name(dtype):
    return next(name for name in dir(tl) if getattr(tl, name) is dtype)


main()
