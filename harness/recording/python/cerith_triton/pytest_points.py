"""Tests of `conforms`: one item for each point."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cerith_triton.checking import WrongResult
from cerith_triton.conforming import Conformance, Point


class PointItem(pytest.Item):
    """A launcher, compared with its reference function at a point."""

    def __init__(self, *, conformance: Conformance, point: Point, **more: Any) -> None:
        super().__init__(**more)
        self.conformance = conformance
        self.point = point
        for mark in getattr(conformance, "pytestmark", ()):
            self.add_marker(getattr(pytest.mark, mark.name)(*mark.args, **mark.kwargs))

    def runtest(self) -> None:
        """Compares. Raises `WrongResult` for the smallest shape that fails."""
        self.conformance.check(self.point)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The comparison's text, without the steps that led to it."""
        if isinstance(excinfo.value, WrongResult):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """File, line and name of the launcher."""
        code = getattr(self.conformance.fn, "__code__", None)
        return self.path, None if code is None else code.co_firstlineno - 1, self.name


def make_items(collector: pytest.Collector, name: str, conformance: Conformance) -> list[PointItem]:
    """The items of a launcher."""
    return [
        PointItem.from_parent(collector, name=f"{name}[{point.id}]", conformance=conformance, point=point)
        for point in conformance.points
    ]
