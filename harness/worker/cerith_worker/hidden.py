"""Hides a torch that is installed beside Triton from everything that this process imports.

A toolchain that Cerith installed for Triton has no torch; an adopted Python, or one installed for its torch,
may. Stand-ins of this package and torch must behave alike there.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Sequence


class _WithoutTorch(PathFinder):
    """Finds on `sys.path` what is there, except for torch."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] == "torch":
            return None
        return super().find_spec(fullname, path, target)


def hide() -> None:
    """Makes imports of torch fail from now on."""
    sys.meta_path[:] = [_WithoutTorch if finder is PathFinder else finder for finder in sys.meta_path]
