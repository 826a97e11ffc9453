"""The text of the modules that TorchInductor writes: names in it that nothing defines, and the kernel in it
as plain Triton. Nothing here needs torch."""

from __future__ import annotations

import ast
import builtins
import symtable
from typing import Any, Iterator, NamedTuple

_KNOWN = frozenset(dir(builtins)) | {
    "__file__",
    "__name__",
    "__doc__",
    "__spec__",
    "__loader__",
    "__package__",
}
_TEXT_MOST = 200
# Functions that a module calls only if it is run as a program, to measure it; no compiled function calls
# them. In torch 2.15 `get_args` reads sizes that it does not define if arguments share a storage.
_MEASURING = frozenset({"get_args", "benchmark_compiled_module"})


class Undefined(NamedTuple):
    """A name that is read and that nothing defines."""

    line: int
    symbol: str
    # The kernel's parameter whose constant is given by the name.
    parameter: str | None
    kernel: str | None
    text: str


def find_undefined(text: str) -> list[Undefined]:
    """Such names of a module, and of the kernel modules in strings inside of it, in the order of lines."""
    found = [*_undefined(text, 0)]
    for above, module in _kernel_modules(ast.parse(text)):
        found += _undefined(module, above)
    return sorted(set(found))


def _undefined(text: str, above: int) -> Iterator[Undefined]:
    table = symtable.symtable(text, "emitted", "exec")
    parts = [child for child in table.get_children() if child.get_name() not in _MEASURING]
    missing = _own(table, True).union(*map(_read, parts)) - _defined(table) - _KNOWN
    if not missing:
        return
    tree = ast.parse(text)
    tree.body = [node for node in tree.body if getattr(node, "name", None) not in _MEASURING]
    kernel = _kernel(tree)
    constants = {} if kernel is None else _constants(kernel)
    lines = text.splitlines()
    for node in _reads(tree, missing, _functions(table)):
        line = lines[node.lineno - 1]
        # Around the name, if not all of a long line is shown.
        start = max(0, min(node.col_offset - _TEXT_MOST // 2, len(line) - _TEXT_MOST))
        yield Undefined(
            above + node.lineno,
            node.id,
            constants.get(node),
            None if kernel is None else kernel.name,
            line[start : start + _TEXT_MOST].strip(),
        )


def _reads(
    node: ast.AST, names: set[str], functions: dict[tuple[str, int], symtable.SymbolTable]
) -> Iterator[ast.Name]:
    """Where one of these names is looked up in the module: not where it is a function's local name."""
    if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load):
        yield node
    inner = names
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        table = functions.get((node.name, node.lineno))
        if table is not None:
            inner = {name for name in names if not (name in table.get_identifiers() and _is_own(table, name))}
    for child in ast.iter_child_nodes(node):
        yield from _reads(child, inner, functions)


def _is_own(table: symtable.SymbolTable, name: str) -> bool:
    symbol = table.lookup(name)
    return symbol.is_local() or symbol.is_free()


def _functions(table: symtable.SymbolTable) -> dict[tuple[str, int], symtable.SymbolTable]:
    """Every function's scope, by its name and line."""
    found = {(table.get_name(), table.get_lineno()): table} if table.get_type() == "function" else {}
    for child in table.get_children():
        found.update(_functions(child))
    return found


def _read(table: symtable.SymbolTable) -> set[str]:
    """Names that a scope and those inside of it look for in the module."""
    return _own(table, False).union(*map(_read, table.get_children()))


def _own(table: symtable.SymbolTable, top: bool) -> set[str]:
    """Names that a scope itself looks for in the module, or that the module's own statements read."""
    return {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (top or symbol.is_global())
    }


def _defined(table: symtable.SymbolTable, top: bool = True) -> set[str]:
    """Names that a scope and those inside of it give the module."""
    names = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if (symbol.is_assigned() or symbol.is_imported()) and (top or symbol.is_declared_global())
    }
    return names.union(*(_defined(child, False) for child in table.get_children()))


def _kernel_modules(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The strings in calls of `async_compile.triton('name', '…')`, with the number of lines above them."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "triton"
            and len(node.args) > 1
        ):
            string = node.args[1]
            if isinstance(string, ast.Constant) and isinstance(string.value, str):
                yield string.lineno - 1, string.value


def _kernel(tree: ast.Module) -> ast.FunctionDef | None:
    """The function that Inductor put its own decorator on."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and any(_is_inductors(one) for one in node.decorator_list):
            return node
    return None


def _is_inductors(decorator: ast.expr) -> bool:
    head = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (
        isinstance(head, ast.Attribute)
        and isinstance(head.value, ast.Name)
        and head.value.id == "triton_heuristics"
    )


def _constants(kernel: ast.FunctionDef) -> dict[ast.AST, str]:
    """The parameter that each name in the metadata's `constants` is given to. Its keys are positions (2.5),
    and names or tuples of one position later."""
    parameters = [argument.arg for argument in (*kernel.args.posonlyargs, *kernel.args.args)]
    found: dict[ast.AST, str] = {}
    for decorator in kernel.decorator_list:
        for node in ast.walk(decorator):
            if not isinstance(node, ast.Dict):
                continue
            for key, value in zip(node.keys, node.values):
                if _value(key) == "constants" and isinstance(value, ast.Dict):
                    for name, constant in zip(value.keys, value.values):
                        parameter = parameter_of(_value(name), parameters)
                        if parameter is not None:
                            found.update(dict.fromkeys(ast.walk(constant), parameter))
    return found


def _value(node: ast.expr | None) -> Any:
    try:
        return None if node is None else ast.literal_eval(node)
    except ValueError:
        return None


def parameter_of(key: object, parameters: list[str]) -> str | None:
    """The parameter that a key of the metadata means."""
    while isinstance(key, tuple) and len(key) == 1:
        key = key[0]
    if isinstance(key, int):
        return parameters[key] if key < len(parameters) else None
    return key if isinstance(key, str) else None


def to_plain_triton(text: str) -> str:
    """A kernel's module as plain Triton: without torch's imports, the decorator that launches it, and the
    choice of a driver."""
    tree = ast.parse(text)
    dropped: set[int] = set()
    for node in tree.body:
        if (isinstance(node, ast.ImportFrom) and _is_torchs(node)) or isinstance(node, ast.Expr):
            dropped.update(_lines(node))
        elif isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if _is_inductors(decorator):
                    dropped.update(_lines(decorator))
    lines = text.splitlines()
    kept = [line for number, line in enumerate(lines, 1) if number not in dropped]
    return "\n".join(kept).strip("\n") + "\n"


def _is_torchs(node: ast.ImportFrom) -> bool:
    module = node.module or ""
    # The metadata's class of 3.1 and 3.2, which only the decorator reads.
    return module.partition(".")[0] == "torch" or any(name.name == "AttrsDescriptor" for name in node.names)


def _lines(node: ast.stmt | ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)
