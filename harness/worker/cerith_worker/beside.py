"""Imports of modules in folders that this process may not list.

A worker may read the modules beside a kernel that cases import, and nothing else that lies there. Python's
own finder lists a folder and finds nothing if it cannot.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType


class _Finder:
    """Finds modules of one folder by their names alone."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(self, name: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """What Python's own finder finds, except for extensions and bytecode."""
        package = os.path.join(self._folder, name.rpartition(".")[2])
        for path, inside in ((os.path.join(package, "__init__.py"), [package]), (package + ".py", None)):
            if _is_readable(path):
                return spec_from_file_location(name, path, submodule_search_locations=inside)
        if os.path.isdir(package):
            # A part of a namespace package, if no other folder has a module of that name.
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [package]
            return spec
        return None

    def invalidate_caches(self) -> None:
        """Nothing is kept."""


def _is_readable(path: str) -> bool:
    try:
        with open(path, "rb"):
            return True
    except OSError:
        return False


def _hook(path: str) -> _Finder:
    try:
        with os.scandir(path):
            pass
    except PermissionError:
        return _Finder(path)
    except OSError:
        pass
    raise ImportError(path)


def install() -> None:
    """Finds modules in such folders from now on."""
    sys.path_hooks.insert(0, _hook)
