"""Loads scripts of `.ci`, which have no ending that imports know."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import pathlib
import sys
from types import ModuleType

FOLDER = pathlib.Path(__file__).resolve().parent.parent


def load_script(name: str) -> ModuleType:
    """A script of `.ci` as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(FOLDER / name))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module
