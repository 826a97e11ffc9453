"""Functions and classes, extracted from their modules: their text, and the names that it needs.

Functions stay as they are written, from `def` on; annotations are left out that mean nothing without
the user's packages. A kernel gets a decorator's line that says what its own said.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import os
import re
import symtable
import sys
import sysconfig
import textwrap
from types import CodeType, FunctionType, ModuleType
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from . import executed
from .failures import Unsayable
from .values import is_dtype

MISSING = object()
# Lines that decorators may have.
_DECORATORS = 200
_FUTURE_ANNOTATIONS = annotations.compiler_flag
_JIT = {"JITFunction", "InterpretedFunction"}
_CONSTEXPR = {"ConstexprFunction"}
_DEF = re.compile(r"^def\s+(\w+)", re.MULTILINE)
_OPTIONS = ("do_not_specialize", "do_not_specialize_on_alignment", "noinline", "debug")

# Names that a text needs, with the attributes that are looked up in each: `ops.block.size` is ("block",
# "size") of `ops`.
Needs = Dict[str, List[Tuple[str, ...]]]


def function_of(kernel: Any) -> Any:
    """The Python function inside of what decorators made, or the class."""
    while not isinstance(kernel, (FunctionType, type)) and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return inspect.unwrap(kernel) if hasattr(kernel, "__wrapped__") else kernel


class Definition(NamedTuple):
    """A function or class, and how it was made."""

    name: str
    # The function or the class itself, which says where names are looked up.
    function: Any
    # Lines before the text.
    decorator: str
    text: str
    module: str
    inspectable: bool
    # Whether annotations are left as text; None if unknown.
    future: bool | None
    needs: Needs
    # The bindings it was made from: mapping, name, value.
    watched: tuple[tuple[Mapping[str, Any], str, Any], ...] = ()
    # The user's file, and the line and column where the text begins there; None if unknown.
    place: tuple[str, int, int] | None = None


def unwrap_layers(value: Any) -> Any:
    """The layers inside of autotuners and heuristics."""
    while not isinstance(value, (FunctionType, type)) and hasattr(value, "fn"):
        names = {kind.__name__ for kind in type(value).__mro__}
        if names & (_JIT | _CONSTEXPR):
            break
        value = value.fn
    return value


def is_callable(value: Any) -> bool:
    """Whether a value is a function, a class, or made of one by a decorator."""
    value = unwrap_layers(value)
    return isinstance(value, (FunctionType, type)) or hasattr(value, "fn") or hasattr(value, "__wrapped__")


_Place = Optional[Tuple[str, int, int]]
# By the `id` of code, which is kept so that no other gets it: replaced text, text, inspectable, needs, place.
_known: dict[int, tuple[CodeType, str | None, str, bool, Needs, _Place]] = {}


def definition_of(value: Any, launched: bool = False) -> Definition | None:
    """The definition of a function, a kernel or a class; None for other values. A `launched` value is a
    kernel, even if it is a plain function: up to 3.1, the interpreter has only that."""
    value = unwrap_layers(value)
    names = {kind.__name__ for kind in type(value).__mro__}
    if names & (_JIT | _CONSTEXPR) or (launched and isinstance(value, FunctionType)):
        function = function_of(value)
        if ".gluon" in type(value).__module__ or any("Gluon" in name for name in names):
            raise Unsayable(f"`{function.__name__}` is a kernel of Gluon's")
        decorator = "@{triton}.constexpr_function" if names & _CONSTEXPR else _jit_line(value)
        state = vars(value)
        source = "_src" if "_src" in state else "src"
        watched = ((state, source, state[source]),) if source in state else ()
        return _taken(function, decorator, getattr(value, "src", None), watched)
    if isinstance(value, type):
        try:
            text = textwrap.dedent(inspect.getsource(value))
        except (OSError, TypeError) as error:
            raise Unsayable(f"the text of class `{value.__name__}` is not to be had") from error
        place = _place_of(inspect.getsourcefile(value), inspect.getsourcelines(value)[1], text)
        needs = _needs(text)
        return Definition(value.__name__, value, "", text, value.__module__, True, False, needs, place=place)
    if isinstance(value, FunctionType) or hasattr(value, "__wrapped__"):
        function = inspect.unwrap(value)
        if isinstance(function, FunctionType):
            return _taken(function, "", None, ())
    return None


def _taken(
    function: FunctionType,
    decorator: str,
    replaced: str | None,
    watched: tuple[tuple[Mapping[str, Any], str, Any], ...],
) -> Definition:
    """A function as extracted from its file; without its decorators, if `replaced` has others instead of
    place."""
    code = function.__code__
    future = bool(code.co_flags & _FUTURE_ANNOTATIONS)
    known = _known.get(id(code))
    if known is None or known[1] != replaced:
        text, inspectable = _text_of(function, replaced)
        try:
            if decorator:
                text = text[_DEF.search(text).start() :]  # type: ignore[union-attr]
            text = text.rstrip() + "\n"
            place = _place_of(code.co_filename, code.co_firstlineno, text)
            if future:
                needs = _needs(_without_annotations(text, lambda _: True))
            else:
                text = _without_annotations(text, lambda names: not _plain_annotation(function, names))
                needs = _needs(text)
        except (AttributeError, SyntaxError, StopIteration) as error:
            raise Unsayable(f"the text of `{function.__name__}` cannot be extracted from its file") from error
        known = _known[id(code)] = (code, replaced, text, inspectable, needs, place)
    _, _, text, inspectable, needs, place = known
    found = _DEF.search(text)
    name = found.group(1) if found else function.__name__
    module = function.__module__ or "__main__"
    return Definition(name, function, decorator, text, module, inspectable, future, needs, watched, place)


def _place_of(file: str | None, first: int, text: str) -> _Place:
    """Where a text begins in a file, from the line on where its first decorator is; None unless every line of
    it is there."""
    if file is None:
        return None
    lines = linecache.getlines(file)
    wanted = text.splitlines()
    for line in range(first, min(first + _DECORATORS, len(lines)) + 1):
        there = lines[line - 1]
        if there.strip() == wanted[0].strip():
            same = zip(wanted, lines[line - 1 :])
            if len(lines) - line + 1 >= len(wanted) and all(a.strip() == b.strip() for a, b in same):
                return (file, line, len(there) - len(there.lstrip()) + 1)
            return None
    return None


def _text_of(function: FunctionType, replaced: str | None) -> tuple[str, bool]:
    """A function's text without indentation, and whether `inspect` sees it."""
    if isinstance(replaced, str):
        return replaced, True
    try:
        return textwrap.dedent(inspect.getsource(function)), True
    except (OSError, TypeError) as error:
        text = executed.text_of(function)
        if text is None:
            raise Unsayable(f"the text of `{function.__name__}` is not to be had") from error
        return textwrap.dedent(text), False


def _jit_line(kernel: Any) -> str:
    """The line that makes a kernel of a function."""
    rewriter = getattr(kernel, "rewriter", None)
    options = getattr(kernel, "kwargs", None) or getattr(rewriter, "kwargs", None)
    if not isinstance(options, dict):
        compiled = hasattr(kernel, "do_not_specialize")
        options = vars(kernel) if compiled else _written_options(function_of(kernel))
    given = []
    for name in _OPTIONS:
        value = options.get(name)
        if value:
            value = list(value) if isinstance(value, (tuple, set, frozenset)) else value
            given.append(f"{name}={value!r}")
    return "@{triton}.jit" + (f"({', '.join(given)})" if given else "")


def _written_options(function: FunctionType) -> dict[str, Any]:
    """The arguments of a kernel's decorator, which only the text has: in the interpreters of 3.0 and 3.1."""
    found = {}
    try:
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
        for decorator in getattr(node, "decorator_list", ()):
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).split(".")[-1] == "jit":
                found = {str(one.arg): ast.literal_eval(one.value) for one in decorator.keywords}
    except (OSError, TypeError, ValueError, SyntaxError, AttributeError):
        # Not to be read, or no plain value; and Python 3.8 cannot print a tree.
        return {}
    return found


def _needs(text: str) -> Needs:
    """The names that a text takes from around it."""
    names: set[str] = set()

    def gather(table: symtable.SymbolTable, top: bool) -> None:
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (not symbol.is_assigned() if top else symbol.is_global()):
                names.add(symbol.get_name())
        for child in table.get_children():
            gather(child, False)

    gather(symtable.symtable(text, "<kernel>", "exec"), True)
    needs: Needs = {}

    class Chains(ast.NodeVisitor):
        def visit_Attribute(self, node: ast.Attribute) -> None:
            chain: list[str] = []
            value: ast.expr = node
            while isinstance(value, ast.Attribute):
                chain.append(value.attr)
                value = value.value
            if isinstance(value, ast.Name):
                self._add(value.id, tuple(reversed(chain)))
            else:
                self.visit(value)

        def visit_Name(self, node: ast.Name) -> None:
            self._add(node.id, ())

        def _add(self, name: str, chain: tuple[str, ...]) -> None:
            if name in names and chain not in needs.setdefault(name, []):
                needs[name].append(chain)

    Chains().visit(ast.parse(text))
    return needs


def _without_annotations(text: str, wanted: Any) -> str:
    """A function without the annotations of parameters and result whose names are `wanted` away."""
    node = next(node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    lines = text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    whole = b"".join(lines)
    cuts = []
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    for argument in [*every, *filter(None, (node.args.vararg, node.args.kwarg))]:
        annotation = argument.annotation
        if annotation is not None and wanted(_roots(annotation)):
            start = starts[argument.lineno - 1] + argument.col_offset + len(argument.arg.encode())
            # Lines keep their numbers.
            cuts.append((start, _end(starts, annotation), b"\n"))
    if node.returns is not None and wanted(_roots(node.returns)):
        start = whole.rindex(b"->", 0, starts[node.returns.lineno - 1] + node.returns.col_offset)
        start = len(whole[:start].rstrip())
        cuts.append((start, _end(starts, node.returns), b"\\\n"))
    for start, end, line in sorted(cuts, reverse=True):
        whole = whole[:start] + line * whole[start:end].count(b"\n") + whole[end:]
    return whole.decode()


def _end(starts: list[int], node: ast.expr) -> int:
    return starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)


def _roots(annotation: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}


def _plain_annotation(function: FunctionType, names: set[str]) -> bool:
    """Whether an annotation means something without the user's packages."""
    for name in names:
        value = lookup(function, name)
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if home is None and is_dtype(value):
            continue
        if value is MISSING or not isinstance(home, str) or not (is_tritons(home) or is_standard(home)):
            return False
    return True


def lookup(function: Any, name: str) -> Any:
    """What a name means to a function or a class."""
    if isinstance(function, FunctionType):
        for free, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if free == name:
                try:
                    return cell.cell_contents
                except ValueError:
                    return MISSING
        scope = function.__globals__
    else:
        scope = vars(sys.modules.get(function.__module__, builtins))
    return scope.get(name, vars(builtins).get(name, MISSING))


def is_tritons(module: str) -> bool:
    """Whether a module is of Triton's."""
    return module == "triton" or module.startswith("triton.")


_STANDARD_FOLDER = os.path.join(sysconfig.get_paths()["stdlib"], "")


def is_standard(module: str) -> bool:
    """Whether a module is of Python's standard library."""
    root = module.partition(".")[0]
    names = getattr(sys, "stdlib_module_names", None)
    if names is not None:
        return root in names
    if root in sys.builtin_module_names:
        return True
    file = str(getattr(sys.modules.get(root), "__file__", None) or "")
    return file.startswith(_STANDARD_FOLDER) and "site-packages" not in file
