"""Exceptions as a report shows them: types and messages down to the root cause, and the line of the user's
file."""

from __future__ import annotations

import ast
import linecache
import os
import traceback
from types import TracebackType
from typing import Any, Callable

# The end of a traceback says what happened; recursion makes the beginning long.
_TRACEBACK_LIMIT = 16 * 1024
_MESSAGE_LIMIT = 16 * 1024

_INTERPRETER = os.path.join("triton", "runtime", "interpreter.py")
_CODE_GENERATOR = os.path.join("triton", "compiler", "code_generator.py")


class Fault(Exception):  # noqa: N818 (CUDA's faults are not errors of this program)
    """A kernel cost this process its GPU: nothing more can be done with it."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        # CUDA's name for it.
        self.cuda = name


def chain_of(error: BaseException) -> list[BaseException]:
    """The exception and its causes, root cause last."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return chain


def _kind(error: BaseException) -> str:
    if isinstance(error, Fault):
        return error.cuda
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _message(error: BaseException) -> str:
    try:
        return str(error)[:_MESSAGE_LIMIT]
    except Exception as broken:  # noqa: BLE001 (a user's `__str__` may raise anything)
        return f"<{_kind(broken)} while reading the message>"


def _location(
    error: BaseException, is_users: Callable[[str], bool]
) -> tuple[tuple[str, int, str], str] | None:
    """File, line and function of the innermost frame in the user's files, and whether that is a kernel's or
    the host's: `kernel` inside of a call of the interpreter or of the compiler's walk over a syntax tree."""
    if isinstance(error, SyntaxError) and error.filename and is_users(error.filename):
        return (error.filename, error.lineno or 1, "<module>"), "host"
    found = None
    where = "host"
    executor: Any = None
    step: TracebackType | None = error.__traceback__
    while step is not None:
        frame = step.tb_frame
        code = frame.f_code
        if is_users(code.co_filename):
            # The interpreter calls the grid's function too.
            if executor is not None and code.co_name == getattr(executor, "__name__", None):
                where = "kernel"
            executor = None
            # A frame of code without line numbers has none.
            found = (code.co_filename, step.tb_lineno or 1, code.co_name), where
        elif code.co_filename.endswith(_CODE_GENERATOR):
            where = "kernel"
        elif code.co_filename.endswith(_INTERPRETER) and code.co_name == "__call__":
            executor = getattr(frame.f_locals.get("self"), "fn", None)
        step = step.tb_next
    return found


def _has_node(tree: ast.AST, node: ast.AST, above: int = 0) -> bool:
    """Whether a tree has a node with this text and place, `above` lines further down."""
    wanted = ast.dump(node)
    return any(
        getattr(one, "lineno", None) == getattr(node, "lineno", 0) + above and ast.dump(one) == wanted
        for one in ast.walk(tree)
    )


def _compiled_location(error: BaseException, is_users: Callable[[str], bool]) -> tuple[str, int, str] | None:
    """File, line and function of the node that an error of Triton's compiler is about. It holds a function's
    text and the node's line in a function; its traceback is empty. The two functions differ if a call of a
    noinline function is refused: the text is then the callee's, and the node is in a caller."""
    node, text = getattr(error, "node", None), getattr(error, "src", None)
    line = getattr(node, "lineno", None)
    if not isinstance(line, int) or not isinstance(text, str):
        return None
    # An entry that is not read yet is a function.
    files = [(file, entry[2]) for file, entry in list(linecache.cache.items()) if len(entry) == 4]
    files = [(file, lines) for file, lines in files if is_users(file)]
    if isinstance(node, ast.Call) and not _has_node(_parse(text), node):
        for file, lines in files:
            for one in ast.walk(_parse("".join(lines))):
                if isinstance(one, ast.FunctionDef) and _has_node(one, node, one.lineno - 1):
                    return file, one.lineno - 1 + line, one.name
    wanted = [part.strip() for part in text.splitlines()]
    for file, lines in files:
        stripped = [part.strip() for part in lines]
        for start in range(len(stripped) - len(wanted) + 1):
            if stripped[start : start + len(wanted)] == wanted:
                return file, start + line, wanted[0].partition("(")[0].rpartition(" ")[2]
    return None


def _parse(text: str) -> ast.AST:
    """The syntax tree of a text; an empty one if Python does not take it."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])


def _compiling(error: BaseException) -> bool:
    """Whether it came out of Triton's compiler."""
    step: TracebackType | None = error.__traceback__
    while step is not None:
        if f"{os.sep}triton{os.sep}compiler{os.sep}" in step.tb_frame.f_code.co_filename:
            return True
        step = step.tb_next
    return False


def _origin(error: BaseException, is_users: Callable[[str], bool]) -> str:
    """The file of Triton's that raised it, from the folder that holds the package: whose code it came out of.
    Empty where the innermost frame that is Triton's or the user's is not Triton's. A frame of another
    package, such as NumPy, counts for its caller."""
    # An exception raised `from None` still has its context.
    link: BaseException | None = error
    seen: list[BaseException] = []
    while link is not None and link not in seen:
        seen.append(link)
        link = link.__cause__ or link.__context__
    for link in reversed(seen):
        found = ""
        step = link.__traceback__
        while step is not None:
            file = step.tb_frame.f_code.co_filename
            parts = file.split(os.sep)
            if is_users(file):
                found = ""
            elif "triton" in parts:
                found = "/".join(parts[len(parts) - 1 - parts[::-1].index("triton") :])
            step = step.tb_next
        # A cause that was never raised has no frames.
        if link.__traceback__ is not None:
            return found
    return ""


def _outside(step: TracebackType | None) -> TracebackType | None:
    """A traceback without the worker's own frames, which come first."""
    own = os.path.dirname(__file__)
    outside = step
    while outside is not None and os.path.dirname(outside.tb_frame.f_code.co_filename) == own:
        outside = outside.tb_next
    return outside


def describe(error: BaseException, is_users: Callable[[str], bool]) -> dict[str, Any]:
    """What the wire says of an exception."""
    chain = chain_of(error)
    location, frame = None, None
    for link in reversed(chain):
        location = _compiled_location(link, is_users)
        if location is not None:
            frame = "kernel"
            break
        found = _location(link, is_users)
        if found is not None:
            location, frame = found
            break
    try:
        text = "".join(
            traceback.format_exception(type(error), error, _outside(error.__traceback__), limit=-64)
        )
    except Exception:  # noqa: BLE001
        # A `__str__` that raises, or lines that cannot be read, in Python versions that do not guard against
        # them.
        text = ""
    return {
        "chain": [{"kind": _kind(link), "message": _message(link)} for link in chain],
        "location": location,
        "frame": frame,
        "compiling": _compiling(error),
        "origin": _origin(error, is_users),
        "traceback": text[-_TRACEBACK_LIMIT:],
    }
