"""Programs: functions of the package `cerith_triton`, which lies beside this one. They execute functions of a
user's file, and ask the other side questions.

`cerith_triton/program.py` finds a program by its name. One process runs one program.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any, Callable

from . import errors

if TYPE_CHECKING:
    # Python 3.8 cannot evaluate them.
    Ask = Callable[[dict[str, Any], list[bytes]], tuple[dict[str, Any], memoryview]]


def is_requested() -> bool:
    """Whether this process runs programs."""
    return "CERITH_PROGRAM" in os.environ


class Programs:
    """Runs programs, with torch imported if it is there: its memory is not the program's."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        try:
            import torch
        except ImportError:
            torch = None
        self.torch: Any = torch

    def run(self, header: dict[str, Any], take_printed: Callable[[], tuple[str, bool]]) -> dict[str, Any]:
        """Runs a program to its end; the header of the answer."""
        # Prints where it hangs, and ends it even if its parent is gone.
        faulthandler.dump_traceback_later(header["time"], exit=True)
        path = header["path"]
        folder = os.path.join(os.path.dirname(path), "")
        beside = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        answer: dict[str, Any] = {"raised": None, "result": None}
        try:
            sys.path.insert(0, beside)
            run = importlib.import_module("cerith_triton.program").run
            sys.path.remove(beside)
            answer["result"] = run(header["program"], path, header["arguments"], self._ask)
        except BaseException as error:  # noqa: BLE001 (SystemExit is an outcome too)
            answer["raised"] = errors.describe(error, lambda file: file.startswith(folder))
            answer["raised"].update(phase="launch", launch=0)
        faulthandler.cancel_dump_traceback_later()
        answer["stdout"], _ = take_printed()
        return answer
