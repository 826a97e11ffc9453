"""Requests done in a separate process, so that those of one file leave nothing in memory for another's.

This process has imported Triton and runs no user code. It forks a child that does, passes requests on to
it, and passes its answers back. The child serves until the other side ends it, with all that it
started, before it asks for another file; the next request then gets a fresh child. If the child ends during a
request, this process ends in the same way, so that the other side sees how the request ended.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import os
import signal
import struct
from typing import Any, BinaryIO, Callable, NoReturn

from . import wire

_PR_SET_PDEATHSIG = 1
_LENGTHS = struct.Struct("<IQ")
_AT_ONCE = 1 << 16

_Serve = Callable[["dict[str, Any]", memoryview, BinaryIO], None]


class Apart:
    """The child that runs user code, if there is one."""

    def __init__(self, pipes: tuple[BinaryIO, BinaryIO], serve: _Serve) -> None:
        """`pipes` are those to the other side, which the child does not have; `serve` does a request and
        writes the answer."""
        self._pipes = pipes
        self._serve = serve
        self._process = 0
        self._requests: BinaryIO | None = None
        self._answers = -1
        # What is there now stays: that process shares it.
        gc.collect()
        gc.freeze()

    def pass_on(self, header: dict[str, Any], blobs: memoryview) -> None:
        """Has a request done, and its answer passed on."""
        self._reap()
        if self._requests is None:
            self._start()
        assert self._requests is not None
        try:
            wire.write(self._requests, header, [bytes(blobs)])
        except BrokenPipeError:
            self._end()
        target = self._pipes[1].fileno()
        seen, count, end = b"", 0, None
        while end is None or count < end:
            data = os.read(self._answers, _AT_ONCE)
            if not data:
                self._end()
            count += len(data)
            if end is None:
                seen += data
                if len(seen) >= _LENGTHS.size:
                    end = _LENGTHS.size + sum(_LENGTHS.unpack_from(seen))
            _write(target, data)

    def _start(self) -> None:
        asked, asking = os.pipe()
        answered, answering = os.pipe()
        self._process = os.fork()
        if not self._process:
            os.close(asking)
            os.close(answered)
            self._run(asked, answering)
        os.close(asked)
        os.close(answering)
        self._requests = os.fdopen(asking, "wb")
        self._answers = answered

    def _run(self, asked: int, answering: int) -> NoReturn:
        """What the other process does."""
        status = 1
        try:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
            for one in self._pipes:
                os.close(one.fileno())
            with os.fdopen(asked, "rb") as requests, os.fdopen(answering, "wb") as answers:
                while (frame := wire.read(requests)) is not None:
                    self._serve(*frame, answers)
            status = 0
        finally:
            os._exit(status)

    def _reap(self) -> None:
        """Takes note of processes that ended: ours, and those that it left behind."""
        while True:
            try:
                process, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                process = 0
            if not process:
                return
            if process == self._process:
                self._process = 0
                if self._requests is not None:
                    # Nothing is in it: a request is passed on whole.
                    self._requests.close()
                    os.close(self._answers)
                    self._requests = None

    def _end(self) -> NoReturn:
        """Ends this process as the other one ended."""
        _, status = os.waitpid(self._process, 0)
        if os.WIFSIGNALED(status):
            faulthandler.disable()
            number = os.WTERMSIG(status)
            if number != signal.SIGKILL:
                signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        os._exit(os.WEXITSTATUS(status))


def _write(target: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest) :]
