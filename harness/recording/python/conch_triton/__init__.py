"""Conch for people who live in pytest: record Triton launches, and gate them through Conch's reference.

- `record(path)` writes what is launched inside of it to a folder that `conch run` takes.
- `gate` does the same for a function or a block and then asks Conch: if the reference disagrees with what was
  executed, or the program has no defined meaning, it raises `Disagreement` with Conch's own words.
- With pytest, `--conch`, the marker `conch` and the fixture `conch` gate tests
(`conch_triton.pytest_plugin`).

Nothing is sent anywhere: recordings are folders on this machine. They hold the data and the code of what was
launched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = ["ConchError", "Disagreement", "Gate", "Recording", "Report", "gate", "record"]

if TYPE_CHECKING:
    from conch_triton.gating import Gate, gate
    from conch_triton.judging import ConchError, Disagreement, Report
    from conch_triton.library import Recording, record

_MODULES = {
    "ConchError": "judging",
    "Disagreement": "judging",
    "Gate": "gating",
    "Recording": "library",
    "Report": "judging",
    "gate": "gating",
    "record": "library",
}


def __getattr__(name: str) -> object:
    # `conch record` imports this package in a user's process, which must import no more than it needs.
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
