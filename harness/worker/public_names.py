"""The public names of this Triton's language, printed as JSON: module by module, what a kernel may write.

Sent to a worker as a module to import, so that the list is the wheel's own. Left out: modules, and what
these modules only imported (`jit`, `List`).
"""

from __future__ import annotations

import importlib
import json
from types import ModuleType
from typing import Any, TypeVar

import triton.language as tl

# How a kernel calls a module, and where it is found in one version or another.
MODULES = {
    "tl": ["triton.language"],
    "tl.math": ["triton.language.math"],
    "tl.random": ["triton.language.random"],
    "tl.standard": ["triton.language.standard"],
    "tl.extra.cuda": ["triton.language.extra.cuda"],
    "tl.extra.libdevice": ["triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice"],
}
CLASSES = ["tensor", "tensor_descriptor"]
# Python's own methods of every class, which no kernel writes.
OF_PYTHON = {"__init__", "__hash__", "__str__", "__repr__", "__new__", "__bool__", "__len__", "__set_name__"}


def is_own(value: Any) -> bool:
    """Whether it is Triton's language: its functions, types and constants."""
    if isinstance(value, (ModuleType, TypeVar)):
        return False
    # A decorated function belongs to the module of the function inside.
    value = getattr(value, "fn", value)
    home = getattr(value, "__module__", None) or type(value).__module__
    # An interpreter that executes a function gives its module names of its own, from `semantic`.
    return home.startswith("triton.language") and home != "triton.language.semantic"


def module_names(paths: list[str]) -> list[str]:
    """Public names of the first of the modules that is there."""
    for path in paths:
        try:
            module = importlib.import_module(path)
        except ImportError:
            continue
        names = getattr(module, "__all__", None)
        if names is None:
            names = [name for name in dir(module) if is_own(getattr(module, name))]
        public = {name: getattr(module, name) for name in names if name[0] != "_" and hasattr(module, name)}
        return sorted(name for name, value in public.items() if not isinstance(value, ModuleType))
    return []


def is_written(name: str, value: Any) -> bool:
    """Whether a kernel may write it after a tensor: a method, an attribute, an operator."""
    if name.startswith("__"):
        return callable(value) and name not in OF_PYTHON
    return not name.startswith("_")


def class_names(name: str) -> list[str]:
    """Methods, attributes and operators that a class of the language adds to Python's."""
    found = getattr(tl, name, None)
    classes = [
        part for part in getattr(found, "__mro__", ()) if part.__module__.startswith("triton.language")
    ]
    return sorted({key for part in classes for key, value in vars(part).items() if is_written(key, value)})


listed = {module: module_names(paths) for module, paths in MODULES.items()}
listed.update({name: class_names(name) for name in CLASSES})
print(json.dumps(listed))
