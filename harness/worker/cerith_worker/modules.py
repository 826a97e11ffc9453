"""Kernel files as Python modules.

A file's text comes with the request and is given to `linecache`, where `inspect` (and so Triton) finds it,
whatever the file on disk says. Executing a module again for every request would cost more than
most launches, so an executed module is kept for the next request of the same text, unless something in it
could remember the last one.

A text that Triton's interpreter could not see where it was recorded, as with kernels made with `exec`, must
not be visible here either: its code names no real file, and `linecache` has none. Errors have the
name `<kernel.py>` in the folder of `kernel.py`, which the other side understands.
"""

from __future__ import annotations

import builtins
import hashlib
import linecache
import math
import os
import sys
from contextlib import contextmanager
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Iterator

import numpy as np

# Beyond it, the modules and code kept are dropped and made again as they are needed.
_KEPT = 512

_CONSTANTS = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    frozenset,
    type(Ellipsis),
    type(NotImplemented),
)


def _interpreted() -> tuple[type, ...]:
    from triton.runtime import interpreter

    return (interpreter.InterpretedFunction,)


def _forgets(value: object, depth: int = 0) -> bool:
    """Whether a module's value has no memory of the launches that were made with it. An autotuner has."""
    if isinstance(value, (*_CONSTANTS, FunctionType, BuiltinFunctionType, ModuleType, type, *_interpreted())):
        return True
    if isinstance(value, tuple):
        return depth < 8 and all(_forgets(item, depth + 1) for item in value)
    kind = type(value)
    return kind.__module__.startswith("triton.language") and kind.__name__ in ("constexpr", "dtype")


class _Language:
    """What the language's names mean before a launch. The interpreters before 3.6 put functions of their own
    in their place and leave them there. A module that imports a function by its name would have another one
    after the first launch than before it."""

    def __init__(self) -> None:
        import triton.language as tl

        descriptor = getattr(tl.core, "tensor_descriptor_base", None)
        descriptor = descriptor or getattr(tl.core, "_experimental_tensor_descriptor_base", None)
        owners = (tl, tl.core, tl.math, tl.tensor, tl.dtype, *((descriptor,) if descriptor else ()))
        self._meant = [(owner, dict(vars(owner))) for owner in owners]

    def is_changed(self) -> bool:
        """Whether a name has another meaning."""
        return any(
            len(vars(owner)) != len(meant)
            or any(vars(owner).get(name) is not value for name, value in meant.items())
            for owner, meant in self._meant
        )

    def restore(self) -> None:
        """Gives every name its first meaning, as it has in a program that has launched nothing."""
        for owner, meant in self._meant:
            for name, value in list(vars(owner).items()):
                if name not in meant:
                    delattr(owner, name)
                elif value is not meant[name]:
                    setattr(owner, name, meant[name])


class _World:
    """Things that a file may change for later files of the same process."""

    def __init__(self) -> None:
        from triton.runtime import interpreter

        watched: list[Any] = [builtins, np, interpreter, math, linecache]
        watched += [value for value in vars(interpreter).values() if isinstance(value, type)]
        watched += [module for name, module in sys.modules.items() if name.partition(".")[0] == __package__]
        self._meant = [(owner, dict(vars(owner))) for owner in watched]

    def is_unchanged(self) -> bool:
        """Whether every name means what it meant."""
        try:
            return all(dict(vars(owner)) == meant for owner, meant in self._meant)
        except Exception:  # noqa: BLE001 (what was put in a name's place may compare as it likes)
            return False


class _Loaded:
    """An executed module, with the sibling modules it brought in."""

    __slots__ = ("module", "rewritten", "siblings", "values")

    def __init__(self, module: ModuleType, siblings: dict[str, ModuleType], rewritten: set[object]) -> None:
        self.module = module
        self.siblings = siblings
        self.rewritten = rewritten
        self.values = [(vars(one), dict(vars(one))) for one in (module, *siblings.values())]

    def reusable(self) -> bool:
        return all(
            name.startswith("__") or _forgets(value)
            for _, values in self.values
            for name, value in values.items()
        )

    def untouched(self) -> bool:
        """Whether every name means what it meant. (Triton's interpreter adds names of its own.)"""
        missing = object()
        return all(
            now.get(name, missing) is value for now, values in self.values for name, value in values.items()
        )


class Modules:
    """The modules of a worker."""

    def __init__(self) -> None:
        self._code: dict[tuple[str, str], CodeType] = {}
        self._kept: dict[tuple[str, str, bool], _Loaded] = {}
        interprets = "TRITON_INTERPRET" in os.environ
        self._language = _Language() if interprets else None
        self._world = _World() if interprets else None
        self._roots = tuple(os.path.realpath(root) + os.sep for root in {sys.prefix, sys.base_prefix})

    def is_world_unchanged(self) -> bool:
        """Whether no file changed what others use. The language's names are restored before each."""
        return self._world is None or self._world.is_unchanged()

    def is_users(self, folder: str, file: str) -> bool:
        """Whether a file is the kernel's or a sibling of it, not Python's or a package's."""
        return file.startswith(folder) and not file.startswith(self._roots)

    def _compile(self, path: str, text: str, digest: str) -> CodeType:
        code = self._code.get((path, digest))
        if code is None:
            if len(self._code) >= _KEPT:
                for old, _ in self._code:
                    if old != path:
                        linecache.cache.pop(old, None)
                self._code.clear()
            code = compile(text, path, "exec", dont_inherit=True)
            self._code[path, digest] = code
        return code

    def _siblings(self, folder: str, before: set[str]) -> dict[str, ModuleType]:
        return {
            name: module
            for name, module in sys.modules.items()
            if name not in before and self.is_users(folder, str(getattr(module, "__file__", None) or ""))
        }

    @contextmanager
    def load(
        self, path: str, text: str, driver: bool, once: bool, inspectable: bool = True
    ) -> Iterator[ModuleType]:
        """The module, importable and with its siblings importable, for as long as the context lasts. With
        `once`, it is executed even if an executed one is at hand. Unless it is inspectable, `inspect` does
        not find its text."""
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        folder = os.path.join(os.path.dirname(path), "")
        if inspectable:
            code_path = path
            # A modification time of none tells `linecache` never to look at the file.
            linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
        else:
            code_path = f"{folder}<{os.path.basename(path)}>"
        key = (code_path, digest, driver)
        kept = None if once else self._kept.pop(key, None)
        before = set(sys.modules)
        rewritten = _rewritten()
        rewritten_before = set(rewritten)
        name = os.path.splitext(os.path.basename(path))[0]
        if name in sys.modules or not name.isidentifier():
            name = f"_cerith_{digest}"
        if self._language is not None:
            self._language.restore()
        sys.path.insert(0, folder)
        try:
            if kept is not None:
                sys.modules[kept.module.__name__] = kept.module
                sys.modules.update(kept.siblings)
                loaded = kept
            else:
                module = ModuleType(name)
                module.__file__ = path
                sys.modules[name] = module
                exec(self._compile(code_path, text, digest), vars(module))  # noqa: S102 (as import does)
                siblings = self._siblings(folder, before)
                siblings.pop(name, None)
                loaded = _Loaded(module, siblings, set())
                # The file's changes of the language would be undone, and not made again.
                once = once or (self._language is not None and self._language.is_changed())
            yield loaded.module
            # Only what came through a request unharmed is kept for the next.
            if not once and loaded.untouched() and (kept is not None or loaded.reusable()):
                if len(self._kept) >= _KEPT:
                    for old in self._kept.values():
                        _forget(rewritten, old.rewritten)
                    self._kept.clear()
                loaded.rewritten |= set(rewritten) - rewritten_before
                rewritten_before |= loaded.rewritten
                self._kept[key] = loaded
            elif kept is not None:
                _forget(rewritten, kept.rewritten)
        except BaseException:
            if kept is not None:
                _forget(rewritten, kept.rewritten)
            raise
        finally:
            sys.path.remove(folder)
            for brought in self._siblings(folder, before):
                del sys.modules[brought]
            _forget(rewritten, set(rewritten) - rewritten_before)


def _rewritten() -> dict[object, object]:
    """The interpreter's table of kernels with a rewritten syntax tree, which would otherwise grow for
    ever."""
    from triton.runtime import interpreter

    return getattr(interpreter.InterpretedFunction, "rewritten_fn", {})


def _forget(rewritten: dict[object, object], functions: set[object]) -> None:
    """Takes functions from that table. Those of Triton's own library are few and stay, as they do in any
    process."""
    for function in functions:
        if not str(getattr(function, "__module__", "")).startswith("triton."):
            rewritten.pop(function, None)
