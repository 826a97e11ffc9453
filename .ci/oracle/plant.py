"""Plant one wrong formula at a time in the correct kernels, each a small edit that keeps bounds and masks.

`plant.py [FILE…]` writes JSON lines of {id, file, kernel, kind, cases, line, before, after, start, end, text}: the planted file is the
original with the bytes from `start` to `end` replaced by `text`. No edit changes the number of lines. Edits of pointers, masks and
loop bounds would be found without a reference, so they are not made. `equivalent.yaml` lists the edits that change no result, each
with a reason; they are not written.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeGuard

HERE = Path(__file__).resolve().parent
MAX_PLANTS = 30  # of one kind, unless `--all` asks for more
REDUCTIONS = (
    "sum",
    "max",
    "min",
    "argmax",
    "argmin",
    "reduce",
    "cumsum",
    "cumprod",
    "associative_scan",
    "dot",
    "sort",
)
PLACES = ("load", "store", "atomic_add", "make_block_ptr", "advance")


@dataclass(frozen=True)
class Edit:
    """A range of bytes and its replacement."""

    start: int
    end: int
    text: str


class Kernel:
    """A kernel's syntax tree, with the bytes of its file, and the set of its value expressions."""

    def __init__(self, data: bytes, tree: ast.Module, function: ast.FunctionDef) -> None:
        self.data = data
        self.function = function
        self.lines = [0]
        for line in data.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.parents: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
        self.parameters = [a.arg for a in function.args.args]
        self.constants = {a.arg for a in function.args.args if a.annotation is not None}
        self.places = self.find_places()
        self.place_ids = {id(p) for p in self.places}
        self.indices = self.find_indices()
        self.values = [
            n for s in function.body for n in ast.walk(s) if hasattr(n, "lineno") and self.is_value(n)
        ]

    def span_of(self, node: ast.AST) -> tuple[int, int]:
        start = self.lines[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self.lines[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return start, end

    def text_of(self, node: ast.AST) -> str:
        return self.data[slice(*self.span_of(node))].decode()

    def replace(self, node: ast.AST, text: str) -> Edit:
        return Edit(*self.span_of(node), text)

    def exchange(self, node: ast.BinOp, old: str, new: str) -> Edit | None:
        """Another operator between the operands of `node`."""
        (_, start), (end, _) = self.span_of(node.left), self.span_of(node.right)
        between = self.data[start:end].decode()
        if between.count(old) != 1:
            return None
        return Edit(start, end, between.replace(old, new))

    def find_places(self) -> list[ast.expr]:
        """Pointers, masks, loop bounds and conditions."""
        found: list[ast.expr] = []
        for node in ast.walk(self.function):
            if is_call(node, *PLACES):
                found += node.args[:1]
                found += [
                    k.value for k in node.keywords if k.arg in ("mask", "boundary_check", "offsets", "shape")
                ]
                if name_of(node) == "make_block_ptr":
                    found += [k.value for k in node.keywords]
            elif isinstance(node, ast.For):
                found.append(node.iter)
            elif isinstance(node, ast.While | ast.If):
                found.append(node.test)
            elif is_call(node, "arange", "program_id", "zeros", "full"):
                found += node.args[:1] if name_of(node) in ("zeros", "full") else [node]
            elif isinstance(node, ast.Subscript):
                found.append(node.slice)
        return found

    def find_indices(self) -> set[str]:
        """Names that pointers, masks and loop bounds depend on."""
        made: dict[str, list[ast.expr]] = {}
        for node in ast.walk(self.function):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        made.setdefault(target.id, []).append(node.value)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                made.setdefault(node.target.id, []).append(node.value)
        found: set[str] = set()
        queue = list(self.places)
        while queue:
            expression = queue.pop()
            if is_call(expression, "load"):
                continue
            for node in ast.walk(expression):
                if isinstance(node, ast.Name) and node.id not in found:
                    found.add(node.id)
                    queue += made.get(node.id, [])
        return found

    def is_value(self, node: ast.AST) -> bool:
        """Whether only results depend on `node`, and no place in memory."""
        while node is not self.function:
            if id(node) in self.place_ids:
                return False
            parent = self.parents[node]
            if isinstance(parent, ast.Assign) and all(
                isinstance(t, ast.Name) and t.id in self.indices for t in parent.targets
            ):
                return False
            if isinstance(parent, ast.AugAssign) and (
                node is parent.target
                or (isinstance(parent.target, ast.Name) and parent.target.id in self.indices)
            ):
                return False
            node = parent
        return True

    def is_index(self, node: ast.AST) -> bool:
        """Whether `node` has names of indices only."""
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - {"tl"}
        return bool(names) and names <= self.indices

    def operations(self, *kinds: type[ast.operator]) -> Iterator[ast.BinOp]:
        for node in self.values:
            if not isinstance(node, ast.BinOp) or not isinstance(node.op, kinds):
                continue
            if not (self.is_index(node.left) and self.is_index(node.right)):
                yield node

    def calls(self, *names: str) -> Iterator[ast.Call]:
        for node in self.values:
            if is_call(node, *names):
                yield node

    def comparisons(self) -> Iterator[ast.Compare]:
        """Conditions of values: those in `tl.where`, not in masks."""
        for node in self.values:
            if isinstance(node, ast.Compare) and len(node.ops) == 1:
                yield node

    def reduces(self) -> bool:
        return any(is_call(node, *REDUCTIONS) for node in ast.walk(self.function)) or any(
            isinstance(node, ast.For | ast.While) for node in ast.walk(self.function)
        )


def name_of(node: ast.AST) -> str:
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def is_call(node: ast.AST, *names: str) -> TypeGuard[ast.Call]:
    return name_of(node) in names and ast.unparse(node.func.value) in ("tl", "tl.math")  # type: ignore[attr-defined]


def is_number(node: ast.AST) -> TypeGuard[ast.Constant]:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    )


Rule = Callable[[Kernel], Iterator["Edit | None"]]
RULES: dict[str, Rule] = {}


def rule(kind: str) -> Callable[[Rule], Rule]:
    def keep(function: Rule) -> Rule:
        RULES[kind] = function
        return function

    return keep


@rule("plus for minus")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.operations(ast.Sub):
        yield k.exchange(node, "-", "+")


@rule("minus for plus")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.operations(ast.Add):
        yield k.exchange(node, "+", "-")
    for statement in ast.walk(k.function):
        if (
            isinstance(statement, ast.AugAssign)
            and isinstance(statement.op, ast.Add)
            and k.is_value(statement.value)
        ):
            start, end = k.span_of(statement.target)[1], k.span_of(statement.value)[0]
            yield Edit(start, end, k.data[start:end].decode().replace("+=", "-="))


@rule("product for quotient")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.operations(ast.Div):
        yield k.exchange(node, "/", "*")


@rule("quotient for product")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.operations(ast.Mult):
        if not is_number(node.right):
            yield k.exchange(node, "*", "/")


@rule("operands swapped")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.operations(ast.Sub, ast.Div):
        (a, _), (_, d) = k.span_of(node.left), k.span_of(node.right)
        start, end = k.span_of(node)
        whole = k.data[start:end].decode()
        if (a, d) == (start, end):
            left, right = k.text_of(node.left), k.text_of(node.right)
            sign = "-" if isinstance(node.op, ast.Sub) else "/"
            if "\n" not in whole:
                yield Edit(start, end, f"({right}) {sign} ({left})")


@rule("maximum and minimum exchanged")
def _(k: Kernel) -> Iterator[Edit | None]:
    other = {
        "max": "min",
        "min": "max",
        "maximum": "minimum",
        "minimum": "maximum",
        "argmax": "argmin",
        "argmin": "argmax",
    }
    for node in k.calls(*other):
        yield k.replace(node.func, k.text_of(node.func).replace(name_of(node), other[name_of(node)]))


@rule("maximum for sum")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.calls("sum"):
        yield k.replace(node.func, "tl.max")


@rule("fill of masked lanes changed")
def _(k: Kernel) -> Iterator[Edit | None]:
    if not k.reduces():
        return
    for node in ast.walk(k.function):
        if is_call(node, "load"):
            for keyword in node.keywords:
                if keyword.arg == "other":
                    text = k.text_of(keyword.value)
                    number = re.fullmatch(r"0(\.0)?", text)
                    yield k.replace(keyword.value, ("1.0" if number[1] else "1") if number else "0.0")


@rule("axis of a reduction changed")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.calls("sum", "max", "min", "argmax", "argmin"):
        axes = [v.value for v in node.keywords if v.arg == "axis"] + node.args[1:2]
        flat = not any(isinstance(n, ast.Subscript) for n in ast.walk(k.function))
        if axes and is_number(axes[0]) and not flat:
            yield k.replace(axes[0], "1" if k.text_of(axes[0]) == "0" else "0")


@rule("count off by one")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.operations(ast.Div):
        divisor = node.right
        if isinstance(divisor, ast.Name) and divisor.id in k.parameters and k.is_index(divisor):
            yield k.replace(divisor, f"({divisor.id} - 1)")
        elif isinstance(divisor, ast.BinOp) and ast.unparse(divisor).endswith(" - 1") and k.is_index(divisor):
            yield k.replace(divisor, k.text_of(divisor).replace(" - 1", ""))


@rule("division dropped")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.operations(ast.Div):
        if not is_number(node.left):
            yield Edit(
                *k.span_of(node), k.text_of(node.left) if wraps(k, node.left) else f"({k.text_of(node.left)})"
            )


def wraps(k: Kernel, node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Call | ast.Constant | ast.Subscript)


@rule("root dropped")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.calls("sqrt", "rsqrt"):
        text = k.text_of(node.args[0])
        yield k.replace(node, f"({text})" if name_of(node) == "sqrt" else f"(1.0 / ({text}))")


@rule("root for its inverse")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.calls("sqrt", "rsqrt"):
        yield k.replace(node.func, "tl.rsqrt" if name_of(node) == "sqrt" else "tl.sqrt")


@rule("epsilon dropped")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.operations(ast.Add):
        if "eps" in k.text_of(node.right):
            yield k.replace(
                node, k.text_of(node.left) if wraps(k, node.left) else f"({k.text_of(node.left)})"
            )


@rule("epsilon outside of the root")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.calls("sqrt", "rsqrt"):
        inner = node.args[0]
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Add) and "eps" in k.text_of(inner.right):
            yield k.replace(
                node, f"({k.text_of(node.func)}({k.text_of(inner.left)}) + {k.text_of(inner.right)})"
            )


@rule("another base")
def _(k: Kernel) -> Iterator[Edit | None]:
    other = {"exp": "exp2", "exp2": "exp", "log": "log2", "log2": "log"}
    for node in k.calls(*other):
        yield k.replace(node.func, f"tl.{other[name_of(node)]}")


@rule("function exchanged")
def _(k: Kernel) -> Iterator[Edit | None]:
    other = {"sin": "cos", "cos": "sin", "floor": "ceil", "ceil": "floor", "sigmoid": "exp", "erf": "sigmoid"}
    for node in k.calls(*other):
        yield k.replace(node.func, f"tl.{other[name_of(node)]}")


@rule("third digit of a constant changed")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.values:
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            text = k.text_of(node)
            match = re.fullmatch(r"(0\.0*|[1-9]\d*\.)(\d{3,})", text)
            if match:
                digits = match[2]
                at = 2 if match[1].startswith("0.") else 1
                yield k.replace(
                    node, match[1] + digits[:at] + str((int(digits[at]) + 1) % 10) + digits[at + 1 :]
                )


@rule("constant doubled")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.operations(ast.Add, ast.Sub, ast.Mult, ast.Div):
        for side in (node.left, node.right):
            if isinstance(side, ast.Constant) and isinstance(side.value, float) and abs(side.value) < 1000:
                yield k.replace(side, repr(side.value * 2))


@rule("scale dropped")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.operations(ast.Mult):
        for side, kept in ((node.right, node.left), (node.left, node.right)):
            if isinstance(side, ast.Name) and side.id in k.parameters and not k.is_index(side):
                yield k.replace(node, k.text_of(kept) if wraps(k, kept) else f"({k.text_of(kept)})")


@rule("scale inverted")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.operations(ast.Mult):
        if isinstance(node.right, ast.Name) and node.right.id in k.parameters and not k.is_index(node.right):
            yield k.exchange(node, "*", "/")


@rule("term dropped")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.operations(ast.Add, ast.Sub):
        yield k.replace(node, f"({k.text_of(node.left)})")
        if isinstance(node.op, ast.Add):
            yield k.replace(node, f"({k.text_of(node.right)})")


@rule("factor dropped")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.operations(ast.Mult):
        yield k.replace(node, f"({k.text_of(node.left)})")
        yield k.replace(node, f"({k.text_of(node.right)})")


@rule("square dropped")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.operations(ast.Mult):
        if ast.dump(node.left) == ast.dump(node.right):
            yield k.replace(node, f"({k.text_of(node.left)})")


@rule("sign dropped")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.values:
        if not isinstance(node, ast.UnaryOp) or not isinstance(node.op, ast.USub):
            continue
        if not is_number(node.operand) and "inf" not in k.text_of(node):
            yield k.replace(node, k.text_of(node.operand))


@rule("absolute value dropped")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.calls("abs"):
        yield k.replace(node, f"({k.text_of(node.args[0])})")


@rule("accumulator begins with one")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in ast.walk(k.function):
        if is_call(node, "zeros"):
            rest = [k.text_of(a) for a in node.args[1:]] + [
                f"{w.arg}={k.text_of(w.value)}" for w in node.keywords
            ]
            yield k.replace(node, f"tl.full({k.text_of(node.args[0])}, 1, {', '.join(rest)})")


@rule("accumulator overwritten")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in find_accumulations(k):
        start, end = k.span_of(node.target)[1], k.span_of(node.value)[0]
        yield Edit(start, end, re.sub(r"[-+*]=", "=", k.data[start:end].decode()))


@rule("accumulator in f16")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in find_accumulations(k):
        if isinstance(node.op, ast.Add) and is_float_accumulator(k, node.target):
            target = k.text_of(node.target)
            yield k.replace(
                node, f"{target} = ({target} + {k.text_of(node.value)}).to(tl.float16).to(tl.float32)"
            )


@rule("terms in bf16")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in find_accumulations(k):
        if is_float_accumulator(k, node.target) and not is_call(node.value, "load"):
            yield k.replace(node.value, f"({k.text_of(node.value)}).to(tl.bfloat16).to(tl.float32)")


def find_accumulations(k: Kernel) -> Iterator[ast.AugAssign]:
    for node in ast.walk(k.function):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and k.is_value(node.value):
            yield node


def is_float_accumulator(k: Kernel, target: ast.AST) -> bool:
    """Whether `target` begins as zeros of f32."""
    for node in ast.walk(k.function):
        if not isinstance(node, ast.Assign) or ast.unparse(node.targets[0]) != ast.unparse(target):
            continue
        if is_call(node.value, "zeros") and "float32" in k.text_of(node.value):
            return True
    return False


@rule("product of matrices in bf16")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.calls("dot"):
        if "int32" not in k.text_of(node):
            a, b = node.args[:2]
            (start, _), (_, end) = k.span_of(a), k.span_of(b)
            yield Edit(start, end, f"({k.text_of(a)}).to(tl.bfloat16), ({k.text_of(b)}).to(tl.bfloat16)")


@rule("input rounded to f16")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.values:
        if (
            isinstance(node, ast.Call)
            and k.text_of(node).endswith(".to(tl.float32)")
            and "load(" in k.text_of(node)
        ):
            yield k.replace(
                node, k.text_of(node).removesuffix(".to(tl.float32)") + ".to(tl.float16).to(tl.float32)"
            )


@rule("result rounded to bf16")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node, value in find_stores(k):
        yield k.replace(value, f"({k.text_of(value)}).to(tl.bfloat16)")


def find_stores(k: Kernel) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Stores of floats that the kernel computes."""
    for node in ast.walk(k.function):
        if is_call(node, "store") and len(node.args) > 1:
            text = k.text_of(node.args[1])
            if not re.search(r"int(8|32|64)|arg|index|best_at|count|load", text) and "int32" not in k.text_of(
                k.function
            ):
                yield node, node.args[1]


@rule("result scaled twice")
def _(k: Kernel) -> Iterator[Edit | None]:
    for _node, value in find_stores(k):
        yield k.replace(value, f"({k.text_of(value)}) * 2.0")


@rule("input stored")
def _(k: Kernel) -> Iterator[Edit | None]:
    loaded = [
        n.targets[0].id
        for n in ast.walk(k.function)
        if isinstance(n, ast.Assign)
        and isinstance(n.targets[0], ast.Name)
        and "tl.load(" in k.text_of(n.value)
    ]
    for _node, value in find_stores(k):
        names = [n.id for n in ast.walk(value) if isinstance(n, ast.Name) and n.id in loaded]
        if names and not isinstance(value, ast.Name):
            yield k.replace(value, names[0])


@rule("bound of a condition off by one")
def _(k: Kernel) -> Iterator[Edit | None]:
    other = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
    for node in k.comparisons():
        if type(node.ops[0]) in other and k.is_index(node):
            yield k.replace(
                node, f"{k.text_of(node.left)} {other[type(node.ops[0])]} {k.text_of(node.comparators[0])}"
            )


@rule("comparison reversed")
def _(k: Kernel) -> Iterator[Edit | None]:
    other = {ast.Lt: ">", ast.LtE: ">=", ast.Gt: "<", ast.GtE: "<=", ast.Eq: "!=", ast.NotEq: "=="}
    for node in k.comparisons():
        yield k.replace(
            node, f"{k.text_of(node.left)} {other[type(node.ops[0])]} {k.text_of(node.comparators[0])}"
        )


@rule("branches of a condition swapped")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.calls("where"):
        a, b = node.args[1:3]
        (start, _), (_, end) = k.span_of(a), k.span_of(b)
        yield Edit(start, end, f"{k.text_of(b)}, {k.text_of(a)}")


@rule("condition dropped")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.calls("where"):
        if not is_number(node.args[1]) and k.text_of(node.args[1]) not in k.constants | {"value", "1.0"}:
            yield k.replace(node, f"({k.text_of(node.args[1])})")


@rule("first block skipped")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in ast.walk(k.function):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and len(node.iter.args) == 3:
            start, _, step = node.iter.args
            if k.text_of(start) == "0" and k.text_of(step) != "PROGRAMS":
                yield k.replace(start, k.text_of(step))


@rule("loop starts at one")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in ast.walk(k.function):
        if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call):
            continue
        if len(node.iter.args) == 2 and k.text_of(node.iter.args[0]) == "0":
            yield k.replace(node.iter.args[0], "1")


@rule("scan reversed")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.calls("cumsum", "cumprod"):
        if "reverse=True" in k.text_of(node):
            yield k.replace(node, k.text_of(node).replace("reverse=True", "reverse=False"))
        else:
            yield k.replace(node, k.text_of(node).removesuffix(")") + ", reverse=True)")


@rule("transpose dropped")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.calls("trans"):
        yield k.replace(node, k.text_of(node.args[0]))


@rule("atomic function exchanged")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in ast.walk(k.function):
        if is_call(node, "atomic_add"):
            yield k.replace(node.func, "tl.atomic_max")


@rule("bit operation changed")
def _(k: Kernel) -> Iterator[Edit | None]:
    for node in k.operations(ast.RShift, ast.LShift, ast.BitAnd):
        if is_number(node.right):
            value = ast.literal_eval(node.right)
            yield k.replace(node.right, str(value >> 1 if isinstance(node.op, ast.BitAnd) else value - 1))


def find_kernels(tree: ast.Module) -> list[ast.FunctionDef]:
    return [
        n
        for n in tree.body
        if isinstance(n, ast.FunctionDef) and any("jit" in ast.unparse(d) for d in n.decorator_list)
    ]


def find_cases(tree: ast.Module) -> dict[str, list[str]]:
    """The names of the cases that run each kernel."""
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}

    def reach(name: str, seen: set[str]) -> set[str]:
        for node in ast.walk(functions[name]):
            if isinstance(node, ast.Name) and node.id in functions and node.id not in seen:
                seen.add(node.id)
                reach(node.id, seen)
        return seen

    found: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Case":
            name = ast.literal_eval(node.args[0])
            for kernel in reach(ast.unparse(node.args[1]), set()):
                found.setdefault(kernel, []).append(name)
    return found


def choose_sites(kernel: Kernel, edits: list[Edit]) -> list[Edit]:
    """The first and the last that leave a program."""
    unique = sorted(dict.fromkeys(edits), key=lambda e: (e.start, e.end, e.text))
    first = next((e for e in unique if is_valid(kernel, e)), None)
    last = next((e for e in reversed(unique) if is_valid(kernel, e)), None)
    return list(dict.fromkeys(e for e in (first, last) if e is not None))


def is_valid(kernel: Kernel, edit: Edit) -> bool:
    """Whether the planted kernel is Python, and has as many lines."""
    if edit.text.count("\n") != kernel.data[edit.start : edit.end].count(b"\n"):
        return False
    start, end = kernel.span_of(kernel.function)
    try:
        ast.parse(kernel.data[start : edit.start] + edit.text.encode() + kernel.data[edit.end : end])
    except SyntaxError:
        return False
    return True


def apply_edit(data: bytes, edit: Edit) -> bytes:
    return data[: edit.start] + edit.text.encode() + data[edit.end :]


def make_plants(path: Path, data: bytes) -> Iterator[dict[str, object]]:
    tree = ast.parse(data)
    cases = find_cases(tree)
    for function in find_kernels(tree):
        kernel = Kernel(data, tree, function)
        taken: set[Edit] = set()
        for kind, find in RULES.items():
            edits = [e for e in find(kernel) if e is not None and e not in taken]
            for nth, edit in enumerate(choose_sites(kernel, edits)):
                taken.add(edit)
                line = data[: edit.start].count(b"\n") + 1
                yield {
                    "id": f"{path.stem}/{function.name}/{kind.replace(' ', '-')}/{nth}",
                    "file": path.name,
                    "kernel": function.name,
                    "kind": kind,
                    "cases": cases.get(function.name, []),
                    "line": line,
                    "before": data[edit.start : edit.end].decode(),
                    "after": edit.text,
                    "start": edit.start,
                    "end": edit.end,
                    "text": edit.text,
                }


def read_equivalent() -> dict[str, str]:
    """The ids of edits that change no result, with the reason of each."""
    found: dict[str, str] = {}
    reason = ""
    for line in (HERE / "equivalent.yaml").read_text().splitlines():
        if line.startswith("- reason: "):
            reason = line.removeprefix("- reason: ").strip('"')
        elif line.startswith("    - "):
            found[line.removeprefix("    - ").strip()] = reason
    return found


def list_plants(paths: list[Path], everything: bool) -> list[dict[str, object]]:
    """Edits that change a result. A hash of the id chooses `MAX_PLANTS` of a kind."""
    equivalent = read_equivalent()
    found = [p for path in paths for p in make_plants(path, path.read_bytes()) if p["id"] not in equivalent]
    if everything:
        return found
    kinds: dict[object, list[dict[str, object]]] = {}
    for plant in found:
        kinds.setdefault(plant["kind"], []).append(plant)
    chosen = {
        str(plant["id"])
        for plants in kinds.values()
        for plant in sorted(plants, key=lambda p: hashlib.sha256(str(p["id"]).encode()).digest())[:MAX_PLANTS]
    }
    return [p for p in found if p["id"] in chosen]


def main() -> None:
    paths = [Path(p) for p in sys.argv[1:] if p != "--all"] or sorted((HERE / "kernels").glob("*.py"))
    for plant in list_plants(paths, "--all" in sys.argv):
        sys.stdout.write(json.dumps(plant) + "\n")


if __name__ == "__main__":
    main()
