"""Plant one mistake at a time in Triton kernels, each a small edit of the original text.

`plant.py LIST FILE…` writes JSON lines of {file, kernel, kind, line, before, after, start, end, text}: what is planted in `kernel`
is the original with the bytes from `start` to `end` replaced by `text`. No edit changes the number of lines.
`kernel` is the kernel that the mistake changes, also where the edit is in its launcher.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SITES = 2  # of one kind in one kernel: the first and the last


@dataclass(frozen=True)
class Edit:
    """A range of bytes and what takes its place."""

    start: int
    end: int
    text: str


class Text:
    """A file's bytes, with the places of nodes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.lines = [0]
        for line in data.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.tree = ast.parse(data)
        self.parents: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node

    def span_of(self, node: ast.AST) -> tuple[int, int]:
        a = self.lines[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        b = self.lines[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return a, b

    def text_of(self, node: ast.AST) -> str:
        a, b = self.span_of(node)
        return self.data[a:b].decode()

    def replace(self, node: ast.AST, text: str) -> Edit:
        """`text` for `node`, with as many lines."""
        a, b = self.span_of(node)
        lost = self.data[a:b].count(b"\n") - text.count("\n")
        if lost:
            text = f"({text}" + "\n" * lost + ")"
        return Edit(a, b, text)

    def line_of(self, offset: int) -> int:
        return self.data.count(b"\n", 0, offset) + 1

    def outer_span(self, node: ast.AST) -> tuple[int, int]:
        """The span with its own parentheses."""
        a, b = self.span_of(node)
        while True:
            before, after = self.data[:a].rstrip(), self.data[b:].lstrip()
            inside = isinstance(
                self.parents.get(node), ast.BinOp | ast.BoolOp | ast.UnaryOp | ast.keyword | ast.Assign
            )
            if not (inside and before.endswith(b"(") and after.startswith(b")")):
                return a, b
            if isinstance(self.parents.get(node), ast.Call):
                return a, b
            a, b = len(before) - 1, len(self.data) - len(after) + 1

    def drop_arguments(self, call: ast.Call, names: set[str], at: int | None) -> Edit | None:
        """`call` without these keywords and everything from its positional argument `at`."""
        kept = [self.text_of(a) for i, a in enumerate(call.args) if at is None or i < at]
        kept += [self.keyword_text(k) for k in call.keywords if k.arg not in names]
        if len(kept) == len(call.args) + len(call.keywords):
            return None
        return self.replace(call, f"{self.text_of(call.func)}({', '.join(kept)})")

    def keyword_text(self, node: ast.keyword) -> str:
        return self.data[slice(*self.span_of(node))].decode()


def is_call(node: ast.AST, *names: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func.value) in ("tl", "language", "triton.language", "triton")
        and node.func.attr in names
    )


def find_calls(where: ast.AST, *names: str) -> Iterator[ast.Call]:
    for node in ast.walk(where):
        if is_call(node, *names):
            assert isinstance(node, ast.Call)
            yield node


def find_argument(call: ast.Call, name: str, at: int) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[at] if len(call.args) > at else None


def mask_of(call: ast.Call) -> ast.expr | None:
    loads = call.func.attr == "load"  # type: ignore[attr-defined]
    return find_argument(call, "mask", 1 if loads else 2)


def find_masks(kernel: ast.FunctionDef) -> list[ast.expr]:
    """Expressions that masks are made of, through up to four names."""
    made: dict[str, list[ast.expr]] = {}
    for node in ast.walk(kernel):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            made.setdefault(node.targets[0].id, []).append(node.value)
    new: list[ast.expr] = [m for c in find_calls(kernel, "load", "store") if (m := mask_of(c)) is not None]
    seen: list[ast.expr] = []
    for _ in range(4):
        seen += [e for e in new if e not in seen]
        names = {n.id for e in new for n in ast.walk(e) if isinstance(n, ast.Name)}
        new = [
            v
            for n in names
            for v in made.get(n, [])
            if any(isinstance(x, ast.Compare) for x in ast.walk(v))
            and v not in seen
            and not any(find_calls(v, "load"))
        ]
    return seen


def find_bounds(kernel: ast.FunctionDef) -> list[ast.Compare]:
    """`offsets < size`, in masks."""
    found: list[ast.Compare] = []
    for mask in find_masks(kernel):
        for node in ast.walk(mask):
            if (
                isinstance(node, ast.Compare)
                and len(node.ops) == 1
                and isinstance(node.ops[0], ast.Lt)
                and node not in found
            ):
                found.append(node)
    return sorted(found, key=lambda n: (n.lineno, n.col_offset))


Rule = Callable[[Text, ast.FunctionDef], Iterator[Edit | None]]
RULES: dict[str, Rule] = {}


def rule(name: str) -> Callable[[Rule], Rule]:
    def keep(function: Rule) -> Rule:
        RULES[name] = function
        return function

    return keep


def is_masked(call: ast.Call, position: int) -> bool:
    """Whether a load or a store has a mask: TorchInductor passes `None` where it needs none."""
    masks = [word.value for word in call.keywords if word.arg == "mask"] or call.args[position : position + 1]
    return not any(isinstance(mask, ast.Constant) and mask.value is None for mask in masks)


@rule("mask removed")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    for call in find_calls(k, "load"):
        if is_masked(call, 1):
            yield t.drop_arguments(call, {"mask", "other"}, 1)
    for call in find_calls(k, "store"):
        if is_masked(call, 2):
            yield t.drop_arguments(call, {"mask"}, 2)


@rule("mask < made <=")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    for node in find_bounds(k):
        yield t.replace(node, f"{t.text_of(node.left)} <= {t.text_of(node.comparators[0])}")


@rule("mask with the wrong size")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    params = [a.arg for a in k.args.args]
    sizes = [n.comparators[0].id for n in find_bounds(k) if isinstance(n.comparators[0], ast.Name)]
    sizes = sorted({s for s in sizes if s in params})
    for node in find_bounds(k):
        right = node.comparators[0]
        if isinstance(right, ast.Name) and right.id in sizes and len(sizes) > 1:
            yield t.replace(right, sizes[(sizes.index(right.id) + 1) % len(sizes)])


@rule("half of a mask lost")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    for mask in find_masks(k):
        for node in ast.walk(mask):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
                for kept in (node.left, node.right):
                    yield t.replace(node, t.data[slice(*t.outer_span(kept))].decode())


@rule("other removed")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    for call in find_calls(k, "load"):
        if mask_of(call) is not None:
            yield t.drop_arguments(call, {"other"}, 2)


@rule("other changed")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    for call in find_calls(k, "load"):
        other = find_argument(call, "other", 2)
        if other is not None:
            number = re.fullmatch(r"0(\.0*)?", t.text_of(other))
            yield t.replace(other, ("1.0" if number[1] else "1") if number else "0")


@rule("strides swapped")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    params = {a.arg for a in k.args.args}

    def list_factors(node: ast.AST) -> list[ast.Name]:
        """The parameters that products of this sum have as a factor."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return list_factors(node.left) + list_factors(node.right)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return [
                n
                for n in (node.left, node.right)
                if isinstance(n, ast.Name) and "stride" in n.id.lower() and n.id in params
            ][:1]
        return []

    for node in ast.walk(k):
        if isinstance(node, ast.BinOp) and not isinstance(t.parents[node], ast.BinOp):
            names = list_factors(node)
            if len(names) >= 2 and names[-1].id != names[-2].id:
                a, b = names[-2:]
                (a0, a1), (b0, b1) = t.span_of(a), t.span_of(b)
                yield Edit(a0, b1, b.id + t.data[a1:b0].decode() + a.id)


@rule("stride lost")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    for node in ast.walk(k):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for name, kept in ((node.left, node.right), (node.right, node.left)):
                if isinstance(name, ast.Name) and "stride" in name.id.lower():
                    yield t.replace(node, t.data[slice(*t.outer_span(kept))].decode())


@rule("row and column swapped")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    for node in ast.walk(k):
        if isinstance(node, ast.Subscript):
            inner = t.text_of(node.slice).replace(" ", "")
            other = {":,None": "None, :", "None,:": ":, None"}.get(inner)
            if other:
                yield t.replace(node, f"{t.text_of(node.value)}[{other}]")


@rule("neighbour's program")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    for call in find_calls(k, "program_id"):
        yield t.replace(call, f"({t.text_of(call)} + 1)")


@rule("wrong axis of program_id")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    axes = {
        t.text_of(a) for c in find_calls(k, "program_id") if (a := find_argument(c, "axis", 0)) is not None
    }
    for call in find_calls(k, "program_id"):
        axis = find_argument(call, "axis", 0)
        if axis is not None and t.text_of(axis) in ("0", "1", "2"):
            others = sorted(axes - {t.text_of(axis)}) or [str((int(t.text_of(axis)) + 1) % 3)]
            yield t.replace(axis, others[0])


@rule("block's offset lost")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    for node in ast.walk(k):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            for side in (node.left, node.right):
                if is_call(side, "arange"):
                    yield t.replace(node, t.text_of(side))


@rule("block's size lost")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    for node in ast.walk(k):
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mult)
            and isinstance(node.right, ast.Name)
            and "BLOCK" in node.right.id.upper()
            and isinstance(node.left, ast.Name | ast.Call)
        ):
            yield t.replace(node, t.text_of(node.left))


@rule("+ 1 in an index")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    for name in ("load", "store"):
        for call in find_calls(k, name):
            if call.args:
                yield t.replace(call.args[0], f"{t.text_of(call.args[0])} + 1")


@rule("atomic made a store")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    for call in find_calls(k, "atomic_add", "atomic_max", "atomic_min", "atomic_or", "atomic_xchg"):
        if isinstance(t.parents[call], ast.Expr):
            whole = [t.text_of(a) for a in call.args] + [
                t.keyword_text(w) for w in call.keywords if w.arg not in ("sem", "scope")
            ]
            yield t.replace(call, f"tl.store({', '.join(whole)})")


def plant_floors(t: Text, where: ast.AST) -> Iterator[Edit | None]:
    for call in find_calls(where, "cdiv"):
        if len(call.args) == 2:
            yield t.replace(call, f"(({t.text_of(call.args[0])}) // ({t.text_of(call.args[1])}))")
    for node in ast.walk(where):  # (a + b - 1) // b
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.FloorDiv)
            and isinstance(node.left, ast.BinOp)
        ):
            match = re.fullmatch(r"(.+) \+ (\w+) - 1|(.+) \+ \(?(\w+) - 1\)?", ast.unparse(node.left))
            if match and (match[2] or match[4]) == ast.unparse(node.right):
                yield t.replace(node, f"({match[1] or match[3]}) // {t.text_of(node.right)}")


@rule("loop's bound floored")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    yield from plant_floors(t, k)
    for node in ast.walk(k):  # range(0, n, block)
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and len(node.iter.args) == 3:
            start, stop, step = node.iter.args
            if t.text_of(start) == "0" and t.text_of(step) != "1":
                yield t.replace(stop, f"({t.text_of(stop)}) // {t.text_of(step)} * {t.text_of(step)}")


@rule("accumulator begins with another value")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    for call in find_calls(k, "zeros"):
        rest = [t.text_of(a) for a in call.args[1:]] + [t.keyword_text(w) for w in call.keywords]
        if call.args and rest:
            yield t.replace(call, f"tl.full({', '.join([t.text_of(call.args[0]), '1', *rest])})")


@rule("accumulator not reset")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    """`acc = tl.zeros(…)` in a loop moves to the end of the statement before the loop."""
    for owner in ast.walk(k):
        body = getattr(owner, "body", None)
        for before, loop in itertools.pairwise(body if isinstance(body, list) else []):
            if not isinstance(loop, ast.For | ast.While) or not isinstance(
                before, ast.Assign | ast.Expr | ast.AugAssign
            ):
                continue
            for node in loop.body:
                if (
                    isinstance(node, ast.Assign)
                    and is_call(node.value, "zeros", "full")
                    and "\n" not in t.text_of(node)
                ):
                    (_, end), (a, b) = t.span_of(before), t.span_of(node)
                    yield Edit(end, b, f"; {t.text_of(node)}{t.data[end:a].decode()}pass")


@rule("accumulator narrowed")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    for call in find_calls(k, "zeros", "full"):
        dtype = find_argument(call, "dtype", 1 if call.func.attr == "zeros" else 2)  # type: ignore[attr-defined]
        if dtype is not None and t.text_of(dtype) == "tl.float32":
            yield t.replace(dtype, "tl.float16")


@rule("store before load")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    """A load changes places with the store before or after it, or happens after the first store where its value is stored."""
    for owner in ast.walk(k):
        body = getattr(owner, "body", None)
        if not isinstance(body, list):
            continue
        loads: dict[str, tuple[int, ast.Call]] = {}
        stored = -1
        for i, node in enumerate(body):
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Name)
                and is_call(node.value, "load")
            ):
                assert isinstance(node.value, ast.Call)
                loads[node.targets[0].id] = i, node.value
            if not (isinstance(node, ast.Expr) and is_call(node.value, "store")):
                continue
            for name in ast.walk(node):
                if isinstance(name, ast.Name) and name.id in loads and loads[name.id][0] < stored:
                    load = t.text_of(loads[name.id][1])
                    if "\n" not in load:
                        yield t.replace(name, load)
            stored = i
            for a, b in ((body[i - 1], node), (node, body[i + 1] if i + 1 < len(body) else node)):
                other = b if a is node else a
                if (
                    isinstance(other, ast.Assign)
                    and isinstance(other.targets[0], ast.Name)
                    and any(find_calls(other.value, "load"))
                ):
                    used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                    if other.targets[0].id not in used:
                        (a0, a1), (b0, b1) = t.span_of(a), t.span_of(b)
                        yield Edit(a0, b1, t.text_of(b) + t.data[a1:b0].decode() + t.text_of(a))


@rule("cast lost")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    for node in ast.walk(k):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "to"
            and len(node.args) == 1
        ):
            inner = node.func.value
            text = t.text_of(inner)
            if not isinstance(inner, ast.Name | ast.Call | ast.Attribute | ast.Subscript):
                text = f"({text})"
            yield t.replace(node, text)


@rule("reduction over the wrong axis")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    if not re.search(r"\[\s*(:\s*,\s*None|None\s*,\s*:)\s*\]", t.text_of(k)):
        return
    for call in find_calls(k, "sum", "max", "min", "argmax", "argmin", "cumsum"):
        axis = find_argument(call, "axis", 1)
        if axis is not None and t.text_of(axis) in ("0", "1"):
            yield t.replace(axis, str(1 - int(t.text_of(axis))))


@rule("num_programs mixed up")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    for call in find_calls(k, "num_programs"):
        axis = find_argument(call, "axis", 0)
        if axis is not None and t.text_of(axis) in ("0", "1", "2"):
            yield t.replace(axis, str((int(t.text_of(axis)) + 1) % 3))


@rule("neighbour's cell read after the write")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    """The cell that was written becomes the mean of it and the next one, which another program may write."""
    for call in find_calls(k, "store"):
        if isinstance(t.parents[call], ast.Expr) and len(call.args) >= 2:
            mask = mask_of(call)
            given = f", mask={t.text_of(mask)}" if mask is not None else ""
            p = t.text_of(call.args[0])
            yield (
                t.replace(call, f"{t.text_of(call)}; tl.store({p}, tl.load({p} + 1{given}){given})")
                if "\n" not in t.text_of(call)
                else None
            )


@rule("barrier removed")
def _(t: Text, k: ast.FunctionDef) -> Iterator[Edit | None]:
    for call in find_calls(k, "debug_barrier"):
        yield t.replace(call, "None")


def find_launches(t: Text, kernel: str) -> list[ast.FunctionDef]:
    """The functions that launch this kernel."""
    found = []
    for node in ast.walk(t.tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Subscript)
            and t.text_of(node.func.value) == kernel
        ):
            up: ast.AST | None = node
            while up is not None and not isinstance(up, ast.FunctionDef):
                up = t.parents.get(up)
            if up is not None and up not in found:
                found.append(up)
    return found


def in_launcher(t: Text, kernel: str) -> Iterator[tuple[str, Edit]]:
    for function in find_launches(t, kernel):
        for edit in plant_floors(t, function):
            if edit:
                yield "launcher: grid floored", edit
        for call in find_calls(function, "cdiv"):
            yield "launcher: grid one short", t.replace(call, f"({t.text_of(call)} - 1)")
            yield "launcher: grid one too many", t.replace(call, f"({t.text_of(call)} + 1)")
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Subscript)
                and t.text_of(node.func.value) == kernel
            ):
                given = [c for c in node.args if re.search(r"\.stride\(", t.text_of(c))]
                for a, b in itertools.pairwise(given):
                    if t.text_of(a).split(".")[0] == t.text_of(b).split(".")[0] and t.text_of(a) != t.text_of(
                        b
                    ):
                        (a0, a1), (b0, b1) = t.span_of(a), t.span_of(b)
                        yield (
                            "launcher: strides swapped",
                            Edit(a0, b1, t.text_of(b) + t.data[a1:b0].decode() + t.text_of(a)),
                        )
                sizes = [
                    c
                    for c in node.args
                    if re.search(r"\.(shape\[|size\(|numel\()|^[A-Z]$|^(n|m)_\w+$|^n$", t.text_of(c))
                ]
                for a, b in itertools.pairwise(sizes):
                    if t.text_of(a) != t.text_of(b) and ".stride" not in t.text_of(a) + t.text_of(b):
                        (a0, a1), (b0, b1) = t.span_of(a), t.span_of(b)
                        yield (
                            "launcher: sizes swapped",
                            Edit(a0, b1, t.text_of(b) + t.data[a1:b0].decode() + t.text_of(a)),
                        )


def pick_sites(edits: list[Edit]) -> list[Edit]:
    edits = sorted(set(edits), key=lambda e: (e.start, e.end, e.text))
    return edits if len(edits) <= SITES else [edits[0], edits[-1]]


def make_plants(path: Path, data: bytes, only: set[str] | None = None) -> Iterator[dict[str, object]]:
    t = Text(data)
    for kernel in ast.walk(t.tree):
        if not isinstance(kernel, ast.FunctionDef) or (only is not None and kernel.name not in only):
            continue
        if not any(re.search(r"(^|\.)jit\b", ast.unparse(d)) for d in kernel.decorator_list):
            continue
        found: dict[str, list[Edit]] = {}
        for kind, make in RULES.items():
            found[kind] = [e for e in make(t, kernel) if e is not None]
        for kind, edit in in_launcher(t, kernel.name):
            found.setdefault(kind, []).append(edit)
        for kind, edits in found.items():
            for edit in pick_sites(edits):
                new = data[: edit.start] + edit.text.encode() + data[edit.end :]
                try:
                    changed = ast.dump(ast.parse(new)) != ast.dump(t.tree)
                except SyntaxError:
                    continue
                if not changed or new.count(b"\n") != data.count(b"\n"):
                    continue
                pairs = zip(data.splitlines(), new.splitlines(), strict=True)
                line, (old, now) = next((i, p) for i, p in enumerate(pairs, 1) if p[0] != p[1])
                yield {
                    "file": str(path),
                    "kernel": kernel.name,
                    "kind": kind,
                    "line": line,
                    "last": t.line_of(edit.end),
                    "before": old.decode().strip(),
                    "after": now.decode().strip(),
                    "start": edit.start,
                    "end": edit.end,
                    "text": edit.text,
                }


def main() -> None:
    with open(sys.argv[1], "w") as out:
        for name in sys.argv[2:]:
            out.writelines(json.dumps(row) + "\n" for row in make_plants(Path(name), Path(name).read_bytes()))


if __name__ == "__main__":
    main()
