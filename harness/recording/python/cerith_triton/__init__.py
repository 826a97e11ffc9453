"""Cerith for people who live in pytest: record Triton launches, and gate them through Cerith's reference.

- `record(path)` writes what is launched inside of it to a folder that `cerith run` takes.
- `gate` does the same for a function or a block and then runs Cerith: if the reference disagrees with the
  executed launches, or the program has no defined meaning, it raises `Disagreement` with Cerith's report.
- With pytest, `--cerith`, the marker `cerith` and the fixture `cerith` gate tests
(`cerith_triton.pytest_plugin`).

Nothing is sent anywhere: recordings are folders on this machine. They hold the data and the code of the
launches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "CerithError",
    "Disagreement",
    "Gate",
    "Recording",
    "Report",
    "UndefinedLaunch",
    "gate",
    "record",
]

if TYPE_CHECKING:
    from cerith_triton.gating import Gate, gate
    from cerith_triton.judging import CerithError, Disagreement, Report
    from cerith_triton.library import Recording, record
    from cerith_triton.preflight import UndefinedLaunch

_MODULES = {
    "CerithError": "judging",
    "Disagreement": "judging",
    "Gate": "gating",
    "Recording": "library",
    "Report": "judging",
    "UndefinedLaunch": "preflight",
    "gate": "gating",
    "record": "library",
}


def __getattr__(name: str) -> object:
    # `cerith record` imports this package in a user's process, which must import no more than it needs.
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
