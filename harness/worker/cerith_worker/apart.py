"""Requests done in a separate process, so that those of one file leave nothing in memory for another's.

This process has imported Triton and runs no user code. It forks a child that does, passes requests on to
it, and passes its answers back. The child serves until the other side ends it, with all that it
started, before it asks for another file; the next request then gets a fresh child. If the child ends during a
request, this process ends in the same way, so that the other side sees how the request ended.

The child reports the files that it depends on (`tracked`), over a pipe that user code can't read from or
rewind. They follow each answer.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import os
import select
import signal
import struct
from typing import Any, BinaryIO, Callable, NoReturn

from . import tracked, wire

_PR_SET_PDEATHSIG = 1
_LENGTHS = struct.Struct("<IQ")
_AT_ONCE = 1 << 16
# Bytes of a header and of blobs that no answer has.
_MAX_HEADER, _MAX_BLOBS = 64 << 20, 1 << 32

_Serve = Callable[["dict[str, Any]", memoryview, "wire.Pipe"], None]


class Apart:
    """The child that runs user code, if there is one."""

    def __init__(
        self,
        pipes: tuple[BinaryIO, BinaryIO],
        serve: _Serve,
        known: tuple[str, ...],
        libraries: tuple[str, ...],
    ) -> None:
        """`pipes` are those to the other side, which the child does not have; `serve` does a request and
        writes the answer. `known` and `libraries` are folders that `tracked.Reporter` needs."""
        self._pipes = pipes
        self._serve = serve
        self._known = known
        self._libraries = libraries
        self._process = 0
        self._requests: BinaryIO | None = None
        self._answers = -1
        self._reports = -1
        self._names = tracked.Names()
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
        answer, end = bytearray(), None
        while end is None or len(answer) < end:
            answer += self._read()
            if end is None and len(answer) >= _LENGTHS.size:
                header_size, blobs_size = _LENGTHS.unpack_from(answer)
                if header_size > _MAX_HEADER or blobs_size > _MAX_BLOBS:
                    # Not an answer: the other side refuses it by its lengths.
                    _write(self._pipes[1].fileno(), answer)
                end = _LENGTHS.size + header_size + blobs_size
        self._collect()
        if len(answer) > end:
            self._names.lose("more than one answer")
        trailer = self._names.trailer()
        _LENGTHS.pack_into(answer, 0, header_size, blobs_size + len(trailer))
        # What comes after the first answer comes after its trailer too, for the other side to refuse.
        for part in (answer[:end], trailer, answer[end:]):
            _write(self._pipes[1].fileno(), part)

    def _read(self) -> bytes:
        """The next bytes of an answer. Takes in reports meanwhile: the child waits if nobody reads them."""
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        poll.register(self._reports, select.POLLIN)
        while True:
            ready = {number for number, _ in poll.poll()}
            if self._reports in ready and not self._collect():
                poll.unregister(self._reports)
            if self._answers in ready:
                data = os.read(self._answers, _AT_ONCE)
                if not data:
                    self._end()
                return data

    def _collect(self) -> bool:
        """Takes in the reports that are there; whether more may come."""
        while True:
            try:
                data = os.read(self._reports, _AT_ONCE)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._names.add(data)

    def _start(self) -> None:
        asked, asking = os.pipe()
        answered, answering = os.pipe()
        reports, reporting = os.pipe()
        os.set_blocking(reports, False)
        self._names = tracked.Names()
        self._process = os.fork()
        if not self._process:
            for one in (asking, answered, reports):
                os.close(one)
            self._run(asked, answering, reporting)
        for one in (asked, answering, reporting):
            os.close(one)
        self._reports = reports
        self._requests = os.fdopen(asking, "wb")
        self._answers = answered

    def _run(self, asked: int, answering: int, reporting: int) -> NoReturn:
        """What the other process does."""
        status = 1
        try:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
            for one in self._pipes:
                os.close(one.fileno())
            reporter = tracked.Reporter(reporting, self._known, self._libraries)
            with os.fdopen(asked, "rb") as requests, os.fdopen(answering, "wb") as answers:
                reporter.install()
                reported = tracked.Answers(answers, reporter)
                while (frame := wire.read(requests)) is not None:
                    self._serve(*frame, reported)
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
                    os.close(self._reports)
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


def _write(target: int, data: bytes | bytearray) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest) :]
