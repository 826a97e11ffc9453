"""Lists the operations that `triton/language/semantic.py` makes of several others, by version:

    python docs/internals/expansions.py ~/.local/share/cerith/toolchains > docs/internals/expansions.md

Interpreter and compiler both run that file, so what it expands has one witness. A function counts if one path through it
creates two computing operations, or if it is another public operation with other operands (`-x` is `0 - x`). Conversions,
broadcasts, constants and shapes do not count: nearly every operation has them.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

# Functions of `semantic.py` that convert operands and compute nothing.
CONVERTS = {
    "cast", "bitcast", "to_tensor", "to_tensor_type", "scalar_constant", "make_scalar", "splat", "full", "broadcast_impl_value",
    "broadcast_impl_shape", "broadcast_tensors", "binary_op_type_checking_impl", "bitwise_op_type_checking_impl",
    "computation_type_impl", "reshape", "expand_dims", "permute", "trans", "atom_red_typechecking_impl",
    "_atomic_typechecking_impl", "_convert_to_ir_values", "_convert_elem_to_ir_value", "_convert_block_pointer_indices_to_ir_values",
    "check_ptr_type_impl", "_unsplat", "arange", "wrap_tensor", "make_tensor", "binary_op_sanitize_overflow_impl",
    "to_tensor_with_type", "unsplat",
}  # fmt: skip
# Parts of the names of a builder's methods that compute nothing.
MOVES = (
    "splat", "broadcast", "bitcast", "cast", "_to_", "expand_dims", "reshape", "trunc", "_ext", "make_range", "trans", "get_",
    "barrier", "assert", "print", "make_tensor_ptr", "unsplat",
)  # fmt: skip


def is_computing(name: str) -> bool:
    return name.startswith("create_") and not any(part in name for part in MOVES)


class File:
    def __init__(self, path: Path) -> None:
        self.functions = {
            node.name: node
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FunctionDef)
        }

        self.inside: list[str] = []

    def longest_path(self, name: str) -> tuple[str, ...]:
        """The computing operations on the longest path through a function; of a recursion, on its first round."""
        if name in self.inside:
            return ()
        self.inside.append(name)
        found = self._block(tuple(self.functions[name].body), name)
        self.inside.pop()
        return found

    def _block(self, body: tuple[ast.stmt, ...], name: str) -> tuple[str, ...]:
        done: tuple[str, ...] = ()
        for at, node in enumerate(body):
            if isinstance(node, ast.If):
                rest = body[at + 1 :]
                test = self._calls(node.test, name)
                ways = []
                for arm in (node.body, node.orelse):
                    ends = bool(arm) and isinstance(arm[-1], (ast.Return, ast.Raise))
                    ways.append(self._block(tuple(arm) + (() if ends else rest), name))
                return done + test + max(ways, key=lambda way: (len(way), ":" in "".join(way)))
            if isinstance(node, (ast.FunctionDef, ast.Raise, ast.Assert)):
                continue
            done += self._calls(node, name)
            if isinstance(node, ast.Return):
                break
        return done

    def _calls(self, node: ast.AST, name: str) -> tuple[str, ...]:
        found: tuple[str, ...] = ()
        for call in ast.walk(node):
            if not isinstance(call, ast.Call):
                continue
            called = getattr(call.func, "attr", getattr(call.func, "id", ""))
            if is_computing(called):
                found += (called.removeprefix("create_"),)
            elif called in self.functions and called not in CONVERTS and called != name:
                base = call.func.value if isinstance(call.func, ast.Attribute) else None
                if base is None or (isinstance(base, ast.Name) and base.id in ("self", "semantic")):
                    found += tuple(f"{called}:{one}" for one in self.longest_path(called))
        return found


def find_expanded(path: Path) -> dict[str, tuple[str, ...]]:
    file = File(path)
    found = {}
    for name in file.functions:
        if name.startswith("_") or name in CONVERTS:
            continue
        made = file.longest_path(name)
        if len(made) > 1 or any(":" in one for one in made):
            found[name] = made
    return found


def main() -> None:
    root = Path(sys.argv[1])
    versions = sorted(
        (folder.name for folder in root.iterdir() if folder.name[0].isdigit()),
        key=lambda v: [int(n) for n in v.split(".")],
    )
    by_version = {}
    for version in versions:
        (path,) = root.glob(f"{version}/lib/python*/site-packages/triton/language/semantic.py")
        by_version[version] = find_expanded(path)
    print("# Operations that `semantic.py` makes of others\n")
    print("Made by `docs/internals/expansions.py` from the wheels " + ", ".join(versions) + ".\n")
    print(
        "| function | versions | operations of the longest path, in the newest version that has it |\n|---|---|---|"
    )
    for name in sorted({name for found in by_version.values() for name in found}):
        having = [version for version in versions if name in by_version[version]]
        made = ", ".join(f"`{one}`" for one in by_version[having[-1]][name])
        shown = having[0] if having == [having[0]] else f"{having[0]} to {having[-1]}"
        gaps = versions[versions.index(having[0]) : versions.index(having[-1]) + 1] != having
        print(f"| `{name}` | {', '.join(having) if gaps else shown} | {made} |")


main()
