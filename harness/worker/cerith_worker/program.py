"""Programs: functions of the package `cerith_triton`, which lies beside this one. They execute functions of a
user's file, and ask the other side questions.

This process imports the packages once, and forks a process for each program. It reads no request, so that no
program finds in memory what another one was given. `cerith_triton/program.py` finds a program by its name.
"""

from __future__ import annotations

import faulthandler
import fcntl
import gc
import importlib
import os
import select
import signal
import sys
import traceback
from typing import TYPE_CHECKING, Any, BinaryIO, Callable, NoReturn

from . import apart, contained, errors, wire

if TYPE_CHECKING:
    # Python 3.8 cannot evaluate them.
    Run = Callable[..., dict[str, Any]]


def is_requested() -> bool:
    """Whether this process runs programs."""
    return "CERITH_PROGRAM" in os.environ


class Programs:
    """Runs programs, with torch imported if it is there: its memory is not the program's."""

    def __init__(
        self, requests: BinaryIO, answers: BinaryIO, take_printed: Callable[[], tuple[str, bool]]
    ) -> None:
        self._requests = requests
        self._answers = answers
        self._take_printed = take_printed
        pipes = (0, 1, 2, requests.fileno(), answers.fileno())
        self._flags = [(one, fcntl.fcntl(one, fcntl.F_GETFL)) for one in pipes]
        try:
            import torch
        except ImportError:
            torch = None
        self.torch: Any = torch
        if torch is not None:
            # A process that is forked has no other threads.
            torch.set_num_threads(1)
        self._run: Run | None = None

    def prepare(self) -> None:
        """Imports what programs need, before any file of a user is executed."""
        beside = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        sys.path.insert(0, beside)
        program = importlib.import_module("cerith_triton.program")
        program.prepare()
        sys.path.remove(beside)
        self._run = program.run
        contained.adopt_orphans()
        gc.collect()
        gc.freeze()

    def serve(self) -> None:
        """Runs programs until the other side goes away. The other side sends a request when all processes of
        the last one have ended."""
        poll = select.poll()
        poll.register(self._requests, select.POLLIN)
        while True:
            ((_, events),) = poll.poll()
            if not events & select.POLLIN:
                return
            process = os.fork()
            if not process:
                self._run_and_exit()
            _, status = os.waitpid(process, 0)
            if status:
                apart.end_as(status)
            if apart.has_children():
                # They could answer the next request.
                os.kill(os.getpid(), signal.SIGKILL)
            self._restore_flags()
            self._take_printed()

    def _restore_flags(self) -> None:
        """Undoes what a process that has ended changed: open files are shared with it."""
        for one, before in self._flags:
            fcntl.fcntl(one, fcntl.F_SETFL, before)

    def _run_and_exit(self) -> NoReturn:
        status = 1
        leave = os._exit
        try:
            apart.end_with_parent()
            frame = wire.read(self._requests)
            if frame is not None:
                header, _ = frame
                rules = header["rules"]
                if rules is None:
                    contained.keep_signals()
                else:
                    contained.keep_reach(rules["paths"], rules["folder"])
                wire.write(self._answers, self._answer(header), [])
            status = 0
        except BaseException:  # noqa: BLE001 (the other side sees the text)
            traceback.print_exc()
        finally:
            leave(status)

    def _ask(self, header: dict[str, Any], blobs: list[bytes]) -> tuple[dict[str, Any], memoryview]:
        self._restore_flags()
        wire.write(self._answers, header, blobs)
        frame = wire.read(self._requests)
        if frame is None:
            sys.exit()
        return frame

    def _answer(self, header: dict[str, Any]) -> dict[str, Any]:
        """Runs a program to its end; the header of the answer."""
        # Prints where it hangs, and ends it even if its parent is gone.
        faulthandler.dump_traceback_later(header["time"], exit=True)
        path = header["path"]
        folder = os.path.join(os.path.dirname(path), "")
        answer: dict[str, Any] = {"raised": None, "result": None}
        try:
            assert self._run is not None
            answer["result"] = self._run(header["program"], path, header["arguments"], self._ask)
        except BaseException as error:  # noqa: BLE001 (SystemExit is an outcome too)
            answer["raised"] = errors.describe(error, lambda file: file.startswith(folder))
            answer["raised"].update(phase="launch", launch=0)
        faulthandler.cancel_dump_traceback_later()
        answer["stdout"], _ = self._take_printed()
        return answer
