"""Cerith in Python: check that a Triton kernel computes a given function, and gate or record launches.

    cerith_triton.check(my_softmax, like=torch.softmax, args=[torch.randn(3, 29)], kwargs={"dim": 1})

- `check` executes a launcher's kernels on the CPU, and compares its outputs with a reference function, for
  data that finds bugs. It needs no GPU and no tolerance. `conforms` makes a pytest test of it for each shape
  and dtype.
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
    "Comparison",
    "Conformance",
    "Disagreement",
    "Gate",
    "Recording",
    "Report",
    "UndefinedLaunch",
    "WrongResult",
    "check",
    "conforms",
    "gate",
    "record",
    "tensor",
]

if TYPE_CHECKING:
    from cerith_triton.checking import Comparison, WrongResult, check
    from cerith_triton.conforming import Conformance, conforms
    from cerith_triton.gating import Gate, gate
    from cerith_triton.judging import CerithError, Disagreement, Report
    from cerith_triton.library import Recording, record
    from cerith_triton.preflight import UndefinedLaunch
    from cerith_triton.standin.host import tensor

_MODULES = {
    "CerithError": "judging",
    "Comparison": "checking",
    "Conformance": "conforming",
    "Disagreement": "judging",
    "Gate": "gating",
    "Recording": "library",
    "Report": "judging",
    "UndefinedLaunch": "preflight",
    "WrongResult": "checking",
    "check": "checking",
    "conforms": "conforming",
    "gate": "gating",
    "record": "library",
    "tensor": "standin.host",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> object:
    # `cerith record` imports this package in a user's process, which must import no more than it needs.
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
