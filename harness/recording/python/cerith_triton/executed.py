"""Texts of Python that were executed from memory, where no file has them: kernels made with `exec`.

Python tells an audit hook of every text that it compiles. A hook stays for the life of the process, and
changes nothing. The texts of kernels are kept as long as the kernels are; of others, the latest.
"""

from __future__ import annotations

import ast
import os
import sys
from collections import deque
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

_LATEST = 1024
# The name of our own parsing, which the hook sees too.
_OURS = "<cerith>"
# Characters. No kernel is longer.
_LONGEST = 1 << 20

_texts: deque[tuple[str, str]] = deque(maxlen=_LATEST)
_kernels: WeakKeyDictionary[FunctionType, str] = WeakKeyDictionary()
_watching = False


def watch() -> None:
    """Keeps texts from now on."""
    global _watching
    if not _watching:
        _watching = True
        sys.addaudithook(_heard)


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "compile":
        text, file = arguments
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        # Others are read from their files.
        if (
            isinstance(text, str)
            and len(text) < _LONGEST
            and "def " in text
            and isinstance(file, (str, bytes))
        ):
            file = os.fsdecode(file)
            if file != _OURS and (file.startswith("<") or not os.path.exists(file)):
                _texts.append((file, text))


def keep(function: Any) -> None:
    """Keeps the text of a function that was just made."""
    if isinstance(function, FunctionType):
        file = function.__code__.co_filename
        if file.startswith("<") or not os.path.exists(file):
            text = _found(function)
            if text is not None:
                _kernels[function] = text


def text_of(function: FunctionType) -> str | None:
    """The text of a function, decorators included, if it was executed from memory."""
    return _kernels.get(function) or _found(function)


def _found(function: FunctionType) -> str | None:
    code = function.__code__
    # Other threads may be heard of meanwhile.
    for file, text in reversed(_texts.copy()):
        if file == code.co_filename and code.co_name in text:
            try:
                tree = ast.parse(text, _OURS)
            except (SyntaxError, ValueError):
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
                    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                    if first == code.co_firstlineno:
                        lines = text.splitlines(keepends=True)
                        return "".join(lines[first - 1 : node.end_lineno])
    return None
