"""The program `task`: a task's trials for `cerith judge`, as answers to its questions.

See `task` for the trials, and `submission` for the other program. Files are sent as bytes.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Iterator, Mapping

from . import task
from .connection import Channel


def serve(channel: Channel, path: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Makes trials of a task's file, until there are no more requests."""
    folder = Path(tempfile.mkdtemp())
    task.serve(_Conversation(channel, folder), path, str(folder))
    return {}


class _Conversation:
    """Messages as questions: each message is sent with its files, and its answer is the next request."""

    def __init__(self, channel: Channel, folder: Path) -> None:
        self._channel = channel
        self._folder = folder
        self._next: dict[str, Any] = {}

    def send(self, message: Mapping[str, Any]) -> None:
        """Sends a message with the files that it names."""
        names = list(dict.fromkeys(_list_files(message)))
        blobs = [(self._folder / name).read_bytes() for name in names]
        files = [{"name": name, "bytes": len(blob)} for name, blob in zip(names, blobs)]
        self._next, _ = self._channel.ask({"question": "task", "message": message, "files": files}, blobs)

    def receive(self) -> dict[str, Any]:
        """The request that answered the last message."""
        return self._next


def _list_files(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            if key == "file" and isinstance(one, str):
                yield one
            else:
                yield from _list_files(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _list_files(one)
