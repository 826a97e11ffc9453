"""Connections to the program that executes launches: a process `cerith oracle`, or the program that started
this process contained (`program`).
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import IO, Any, Mapping, Protocol, Sequence

from . import binary
from .binary import CerithError

_MAX_MESSAGE = 4000


class Connection(Protocol):
    """Answers the requests about one part file."""

    def ask(self, request: Mapping[str, Any], files: Sequence[str] = ()) -> dict[str, Any]:
        """The answer to a request. `files` are those that it names. Raises `CerithError` if there is none."""

    def read(self, size: int) -> bytes:
        """The next bytes that follow the answer."""

    def close(self) -> None:
        """Ends the connection."""


class Channel(Protocol):
    """Questions to the program that started this process."""

    def ask(
        self, question: Mapping[str, Any], blobs: Sequence[bytes] = ()
    ) -> tuple[dict[str, Any], memoryview]:
        """The fields and the bytes of the answer."""


channel: Channel | None = None
"""Where this process asks; `None` if it starts processes itself."""


def connect(part: str) -> Connection:
    """A connection for the launches of a part file."""
    return ProcessConnection(part) if channel is None else ChannelConnection(part, channel)


class ProcessConnection:
    """A process `cerith oracle`."""

    def __init__(self, part: str) -> None:
        self._messages: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (`close` closes it)
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("CERITH_RECORD")
        }
        program = binary.find()
        try:
            self._process = subprocess.Popen(
                [program, "oracle", part],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._messages,
                env=environment,
                # Ctrl-C is for the program.
                start_new_session=True,
            )
        except OSError as error:
            raise CerithError(f"failed to start {program}: {error}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout

    def ask(self, request: Mapping[str, Any], files: Sequence[str] = ()) -> dict[str, Any]:
        """The answer of the process, which reads the files itself."""
        try:
            self._requests.write(json.dumps(request, allow_nan=False).encode() + b"\n")
            self._requests.flush()
            line = self._answers.readline()
        except OSError as error:
            raise CerithError(f"`cerith oracle` failed: {error}{self._last_words()}") from error
        try:
            answer = json.loads(line)
        except ValueError as error:
            raise CerithError(f"`cerith oracle` ended without an answer{self._last_words()}") from error
        if not isinstance(answer, dict):
            raise CerithError(f"`cerith oracle` answered with {line[:200]!r}")
        return answer

    def read(self, size: int) -> bytes:
        """The next bytes that follow the answer."""
        content = self._answers.read(size)
        if len(content) != size:
            raise CerithError(f"`cerith oracle` ended in the middle of an answer{self._last_words()}")
        return content

    def close(self) -> None:
        """Ends the process."""
        try:
            self._requests.close()
            self._answers.close()
            self._process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._messages.close()

    def _last_words(self) -> str:
        """The end of the messages that the process printed."""
        self._messages.seek(0)
        text = self._messages.read().decode("utf-8", "replace").strip()[-_MAX_MESSAGE:]
        return f": {text}" if text else ""


class ChannelConnection:
    """The program that started this process. It gets the bytes of files, and reads none itself."""

    _count = 0

    def __init__(self, part: str, channel: Channel) -> None:
        ChannelConnection._count += 1
        self._number = ChannelConnection._count
        self._channel = channel
        self._part = part
        self._sent = 0
        self._rest = memoryview(b"")

    def ask(self, request: Mapping[str, Any], files: Sequence[str] = ()) -> dict[str, Any]:
        """The answer to a request, sent with the new bytes of the part file, and those of the files."""
        with open(self._part, "rb") as part:
            part.seek(self._sent)
            new = part.read()
        self._sent += len(new)
        blobs = [new, *(Path(file).read_bytes() for file in files)]
        question = {
            "question": "oracle",
            "part": self._number,
            "request": dict(request),
            "files": list(files),
            "sizes": [len(blob) for blob in blobs],
        }
        answer, self._rest = self._channel.ask(question, blobs)
        return answer

    def read(self, size: int) -> bytes:
        """The next bytes that follow the answer."""
        if size > len(self._rest):
            raise CerithError("the answer has fewer bytes than it says")
        content, self._rest = bytes(self._rest[:size]), self._rest[size:]
        return content

    def close(self) -> None:
        """The other side ends with this process."""
