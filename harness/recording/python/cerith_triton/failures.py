"""Values that a recording cannot express, and exceptions in its format."""

from __future__ import annotations

import os
from typing import Any

# As the worker that replays a launch has it.
_MESSAGE_LIMIT = 16 * 1024


class Unsayable(Exception):  # noqa: N818 (what it is, not that it is one)
    """A launch that cannot become a case, and why: a fragment that fits "left out: …"."""


def root_of(error: BaseException) -> BaseException:
    """The first cause of an exception."""
    seen: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in seen:
        seen.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return seen[-1]


def kind_of(error: BaseException) -> str:
    """The name of an exception's class, with its module unless it is built in."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def message_of(error: BaseException) -> str:
    """An exception's message; a user's `__str__` may raise anything."""
    try:
        return str(error)[:_MESSAGE_LIMIT]
    except Exception as broken:  # noqa: BLE001
        return f"<{kind_of(broken)} while reading the message>"


def _compiling(error: BaseException) -> bool:
    """Whether it came out of Triton's compiler."""
    step = error.__traceback__
    while step is not None:
        if f"{os.sep}triton{os.sep}compiler{os.sep}" in step.tb_frame.f_code.co_filename:
            return True
        step = step.tb_next
    return False


def describe_error(error: BaseException) -> dict[str, Any]:
    """What a part file says of the exception that ended a launch."""
    root = root_of(error)
    return {
        "kind": kind_of(root),
        "message": message_of(root),
        "phase": "launch",
        "compiling": _compiling(error),
    }
