"""Programs that `cerith` starts in a contained process of a toolchain. They ask it questions, such as what a
launch stores, because they start no process and have no other way out.

`harness/worker/cerith_worker/program.py` calls `run`, and `cerith_toolchain::Programs` is the other side.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any, Callable, Mapping, Sequence

from . import connection

_PROGRAMS = {
    "check": "launchers",
    "reference": "reference",
    "submission": "submission",
    "task": "tasks",
}
"""Modules of this package, whose function `serve` is a program."""


_PACKAGES = (
    "torch",
    "torch.nn.functional",
    "torch.testing",
    "triton",
    "triton.language",
    "triton.testing",
    "numpy.testing",
)
"""Packages that files of users import."""


def prepare() -> None:
    """Imports the programs and the packages that they need. Processes that are forked later have them."""
    for name in _PACKAGES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for name in _PROGRAMS.values():
        importlib.import_module(f"{__package__}.{name}")


class Channel:
    """The other side. Not safe against several threads: a question has one answer."""

    def __init__(
        self, ask: Callable[[dict[str, Any], list[bytes]], tuple[dict[str, Any], memoryview]]
    ) -> None:
        self._ask = ask

    def ask(
        self, question: Mapping[str, Any], blobs: Sequence[bytes] = ()
    ) -> tuple[dict[str, Any], memoryview]:
        """The fields and the bytes of the answer."""
        # The other side knows a question by its first key.
        rest = {key: value for key, value in question.items() if key != "question"}
        return self._ask({"question": question["question"], **rest}, list(blobs))


def run(
    name: str,
    path: str,
    arguments: Mapping[str, Any],
    ask: Callable[[dict[str, Any], list[bytes]], tuple[dict[str, Any], memoryview]],
) -> dict[str, Any]:
    """Runs a program on a user's file, and returns its answer."""
    connection.channel = Channel(ask)
    program = importlib.import_module(f"{__package__}.{_PROGRAMS[name]}")
    answer: dict[str, Any] = program.serve(connection.channel, path, arguments)
    return answer


def load_module(path: str, root: str | None = None, dotted: str | None = None) -> ModuleType:
    """Imports a file, with the modules beside it; as the module `dotted` of the folder `root`, if it is in a
    package. Raises what it raises."""
    if root is not None and dotted is not None:
        sys.path.insert(0, root)
        return importlib.import_module(dotted)
    name = os.path.splitext(os.path.basename(path))[0]
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def find_function(module: ModuleType, name: str) -> Callable[..., Any]:
    """A function of a module: `softmax`, `functional.softmax`. Raises `LookupError` if there is none."""
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            raise LookupError(f"{getattr(module, '__file__', module.__name__)} has no function `{name}`")
        value = getattr(value, part)
    if not callable(value):
        raise TypeError(f"`{name}` of {getattr(module, '__file__', module.__name__)} is not a function")
    function: Callable[..., Any] = value
    return function
