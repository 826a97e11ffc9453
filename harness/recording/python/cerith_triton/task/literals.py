"""The integer literals of a task's file that set its sizes; the file is executed with other values."""

from __future__ import annotations

import ast
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple, Sequence

# The name that replaced literals are read from.
_VALUES = "__cerith_sizes__"

# Keyword arguments whose integers are not sizes.
_OTHER_KEYWORDS = ("axis", "diagonal", "dim", "dim0", "dim1", "dims", "low", "p")


class Site(NamedTuple):
    """An integer literal, or an operation on integer literals, that a size may depend on."""

    name: str
    """The variable that it is assigned to, or the function that it is in."""
    value: int
    line: int


class TaskModule:
    """A task's file. Executing it never changes `sys.modules` for longer than a run of this process."""

    def __init__(self, path: Path, source: str, roots: Sequence[str]) -> None:
        """`roots`: functions that make the inputs. Raises `SyntaxError`."""
        self.path = path
        tree = ast.parse(source, str(path))
        finder = _SiteFinder()
        self.names: list[str] = []
        """The module's variables that the inputs depend on, in order."""
        needed = _find_needed(tree, roots)
        for statement in tree.body:
            if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
                assigned = _list_targets(statement)
                if needed & set(assigned):
                    self.names += [name for name in assigned if name not in self.names]
                    statement.value = finder.replace(", ".join(assigned), statement.value)
            elif isinstance(statement, ast.FunctionDef) and statement.name in roots:
                statement.body = [finder.replace(statement.name, one) for one in statement.body]
        self.sites: tuple[Site, ...] = tuple(finder.sites)
        self._code = compile(ast.fix_missing_locations(tree), str(path), "exec")

    @property
    def values(self) -> list[int]:
        """The values of the sites, as they are in the file."""
        return [site.value for site in self.sites]

    def execute(self, values: Sequence[int]) -> dict[str, Any]:
        """The module's variables, with other values for its sites. Raises any exception of the file."""
        module = types.ModuleType("task")
        module.__file__ = str(self.path)
        vars(module)[_VALUES] = tuple(values)
        # Decorators look up the module of a function.
        sys.modules["task"] = module
        exec(self._code, vars(module))  # noqa: S102 (the task is the user's own file)
        return vars(module)

    def describe(self, namespace: dict[str, Any]) -> str:
        """The sizes in use: `batch_size=3, dim=77`."""
        found = [(name, namespace.get(name)) for name in self.names]
        return ", ".join(f"{name}={value!r}" for name, value in found if _is_size(value))


class _SiteFinder(ast.NodeTransformer):
    """Replaces integer literals by elements of a tuple."""

    def __init__(self) -> None:
        self.sites: list[Site] = []
        self._name = ""

    def replace(self, name: str, node: Any) -> Any:
        """The node with its literals replaced; they belong to `name`."""
        self._name = name
        return self.visit(node)

    def visit(self, node: ast.AST) -> Any:
        value = _read_integer(node)
        if value is None:
            return super().visit(node)
        self.sites.append(Site(self._name, value, getattr(node, "lineno", 0)))
        index = ast.Constant(len(self.sites) - 1)
        found = ast.Subscript(ast.Name(_VALUES, ast.Load()), index, ast.Load())
        return ast.copy_location(found, node)

    def visit_keyword(self, node: ast.keyword) -> Any:
        return node if node.arg in _OTHER_KEYWORDS else self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        # An index is not a size.
        return node


def _read_integer(node: ast.AST) -> int | None:
    """The value of an integer literal, or of arithmetic of them; None for any other node."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _read_integer(node.left), _read_integer(node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Mult):
        return left * right
    if isinstance(node.op, ast.Add):
        return left + right
    if isinstance(node.op, ast.Sub):
        return left - right
    if isinstance(node.op, ast.FloorDiv) and right:
        return left // right
    if isinstance(node.op, ast.Pow) and 0 <= right < 64 and abs(left) < 64:
        return int(left**right)
    return None


def _list_targets(statement: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    nodes = (node for target in targets for node in ast.walk(target))
    return [node.id for node in nodes if isinstance(node, ast.Name)]


def _list_loads(node: ast.AST) -> set[str]:
    names = (one for one in ast.walk(node) if isinstance(one, ast.Name))
    return {one.id for one in names if isinstance(one.ctx, ast.Load)}


def _find_needed(tree: ast.Module, roots: Sequence[str]) -> set[str]:
    """The module's variables that functions depend on, directly or through other variables and functions."""
    uses: dict[str, set[str]] = {}
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            uses.setdefault(statement.name, set()).update(_list_loads(statement))
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            for name in _list_targets(statement):
                uses.setdefault(name, set()).update(_list_loads(statement.value))
    found: set[str] = set()
    pending = [name for name in roots if name in uses]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += [one for one in uses[name] if one in uses]
    return found


def _is_size(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return bool(value) and all(_is_size(one) for one in value)
    return type(value) in (int, float)
