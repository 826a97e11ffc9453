"""The structure of a function's result: values in sequences, dicts and dataclasses.

A structure is JSON: `{"leaf": n}` for the value with this number, `"none"`, `{"sequence": [...]}`, or
`{"named": [[key, ...], ...]}` with the `repr` of each key. Lists, tuples and named tuples are sequences.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, NamedTuple

# A container that is nested deeper, or has more values, is a leaf. No task has as many.
_MAX_DEPTH = 16
_MAX_VALUES = 1024


class Leaves(NamedTuple):
    """A result's structure and its values."""

    structure: Any
    names: list[str]
    """`output`, `output.1`, `output.weights.0`."""
    values: list[Any]


def list_leaves(result: Any, name: str = "output") -> Leaves:
    """The structure and the values of a result. `None` is not a value."""
    walk = _Walk()
    structure = walk.visit(result, name, 0)
    return Leaves(structure, walk.names, walk.values)


class _Walk:
    def __init__(self) -> None:
        self.names: list[str] = []
        self.values: list[Any] = []
        self._count = 0

    def visit(self, value: Any, name: str, depth: int) -> Any:
        if value is None:
            return "none"
        if depth < _MAX_DEPTH:
            if isinstance(value, (list, tuple)) and self._admits(len(value)):
                items = zip(getattr(value, "_fields", itertools.count()), value)
                return {"sequence": [self.visit(one, f"{name}.{key}", depth + 1) for key, one in items]}
            if isinstance(value, dict) and self._admits(len(value)):
                return self._visit_named(list(value.items()), name, depth)
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                fields = dataclasses.fields(value)
                if self._admits(len(fields)):
                    pairs = [(one.name, getattr(value, one.name)) for one in fields]
                    return self._visit_named(pairs, name, depth)
        self.names.append(name)
        self.values.append(value)
        return {"leaf": len(self.values) - 1}

    def _admits(self, count: int) -> bool:
        self._count += count
        return self._count <= _MAX_VALUES

    def _visit_named(self, pairs: list[tuple[Any, Any]], name: str, depth: int) -> Any:
        return {"named": [[repr(key), self.visit(one, f"{name}.{key}", depth + 1)] for key, one in pairs]}
