"""Requests done in a separate process, so that those of one file leave nothing in memory for another's.

This process has imported Triton and runs no user code. It forks a child that does, passes requests on to
it, and passes its answers back. A child serves the requests of one group, which the other side names. If the
child ends during a request, this process ends in the same way, so that the other side sees how the request
ended.

A child that compiles reports the files that it depends on (`tracked`), over a pipe that user code can't read
from or rewind. They follow each answer.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import os
import select
import signal
from typing import Any, BinaryIO, NoReturn, Protocol, Tuple

from . import contained, tracked, wire

_PR_SET_PDEATHSIG = 1
_AT_ONCE = 1 << 16
# Bytes of a header and of blobs that no answer has.
_MAX_HEADER, _MAX_BLOBS = 64 << 20, 1 << 32

# Sent before each answer: whether the child can serve another request.
_GOES_ON, _ENDS = b"\1", b"\0"
_HEAD = len(_GOES_ON) + wire.LENGTHS.size

_Folders = Tuple[str, ...]
_Answer = Tuple["dict[str, Any]", "list[bytes]"]


class Served(Protocol):
    """What the child runs."""

    def begin(self) -> None:
        """Called first in the child."""

    def serve(self, header: dict[str, Any], blobs: memoryview) -> _Answer:
        """Does a request; the header and the blobs of the answer."""

    def is_unchanged(self) -> bool:
        """Whether requests left no state that could change a later one."""


class ForkedWorker:
    """The child that runs user code, if there is one."""

    def __init__(
        self, pipes: tuple[BinaryIO, BinaryIO], served: Served, folders: tuple[_Folders, _Folders] | None
    ) -> None:
        """`pipes` lead to the parent, and the child does not have them. `folders` has the known folders and
        the folders of libraries, for `tracked.Reporter`. It is None if files are not reported."""
        self._pipes = pipes
        self._served = served
        self._folders = folders
        self._process = 0
        self._group: str | None = None
        self._requests: BinaryIO | None = None
        self._answers = -1
        self._reports = -1
        self._names = tracked.Names()
        # Objects that exist now stay: the child process shares them.
        gc.collect()
        gc.freeze()

    def pass_on(self, frame: wire.Frame) -> None:
        """Has a request done, and its answer passed on."""
        header, _ = frame.parse()
        group, alone = header.get("group"), header.get("alone", False)
        self._reap()
        if self._requests is not None and (alone or self._group != group or self._has_answers()):
            self._stop()
        if self._requests is None:
            self._start()
            self._group = group
        assert self._requests is not None
        try:
            self._requests.write(frame.lengths)
            self._requests.write(frame.data)
            self._requests.flush()
        except BrokenPipeError:
            self._end()
        target = self._pipes[1].fileno()
        answer, end = bytearray(), None
        while end is None or len(answer) < end:
            data = self._read()
            if not data:
                _write(target, answer[len(_GOES_ON) :])
                self._end()
            answer += data
            if end is None and len(answer) >= _HEAD:
                header_size, blobs_size = wire.LENGTHS.unpack_from(answer, len(_GOES_ON))
                if header_size > _MAX_HEADER or blobs_size > _MAX_BLOBS:
                    # Not an answer: the other side refuses it by its lengths, and ends this process.
                    _write(target, answer[len(_GOES_ON) :])
                    del answer[_HEAD:]
                end = _HEAD + header_size + blobs_size
        goes_on = answer.startswith(_GOES_ON)
        trailer = b""
        if self._folders is not None:
            self._collect()
            if len(answer) > end:
                self._names.lose("more than one answer")
            trailer = self._names.trailer()
            wire.LENGTHS.pack_into(answer, len(_GOES_ON), header_size, blobs_size + len(trailer))
        # Later parts go out after the first answer's trailer too, so that the other side can reject them.
        whole = memoryview(answer)
        for part in (whole[len(_GOES_ON) : end], trailer, whole[end:]):
            _write(target, part)
        if alone or not goes_on:
            self._stop()

    def _read(self) -> bytes:
        """The next bytes of an answer, or b"" if the child has ended. Reads reports meanwhile: the child
        blocks if they are not read."""
        if self._folders is None:
            return os.read(self._answers, _AT_ONCE)
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        poll.register(self._reports, select.POLLIN)
        while True:
            ready = {number for number, _ in poll.poll()}
            if self._reports in ready and not self._collect():
                poll.unregister(self._reports)
            if self._answers in ready:
                return os.read(self._answers, _AT_ONCE)

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
            end_with_parent()
            for one in self._pipes:
                os.close(one.fileno())
            contained.keep_signals()
            self._served.begin()
            with os.fdopen(asked, "rb") as requests, os.fdopen(answering, "wb") as answers:
                reporter = None
                if self._folders is not None:
                    reporter = tracked.Reporter(reporting, *self._folders)
                    reporter.install()
                while (frame := wire.read(requests)) is not None:
                    answer = self._served.serve(*frame)
                    if reporter is not None:
                        reporter.end()
                    answers.write(_GOES_ON if self._served.is_unchanged() else _ENDS)
                    wire.write(answers, *answer)
            status = 0
        finally:
            os._exit(status)

    def _has_answers(self) -> bool:
        """Whether the child sent bytes without a request."""
        return bool(select.select([self._answers], [], [], 0)[0])

    def _stop(self) -> None:
        """Ends the child. If it left a process behind, this one ends too, and the other side the rest."""
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        self._forget()
        # A child's own children become this process's before it can be waited for.
        self._reap()
        if has_children():
            os.kill(os.getpid(), signal.SIGKILL)

    def _forget(self) -> None:
        self._process = 0
        if self._requests is not None:
            with contextlib.suppress(BrokenPipeError):
                self._requests.close()
            os.close(self._answers)
            os.close(self._reports)
            self._requests = None

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
                # Nothing is in its pipes: a request is passed on whole.
                self._forget()

    def _end(self) -> NoReturn:
        """Ends this process as the other one ended."""
        _, status = os.waitpid(self._process, 0)
        end_as(status)


def end_with_parent() -> None:
    """The system ends this process when its parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def has_children() -> bool:
    """Whether this process has children, ended ones included."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def end_as(status: int) -> NoReturn:
    """Ends this process as a child with this status ended."""
    if os.WIFSIGNALED(status):
        faulthandler.disable()
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def _write(target: int, data: bytes | bytearray | memoryview) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest) :]
