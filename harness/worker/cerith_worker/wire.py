"""Frames on the pipe: lengths of header and blobs, a JSON header, then raw bytes that the header divides into
blobs."""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO, Protocol

# What the two sides speak. Raised with every change of what a header may say.
PROTOCOL = 7

_LENGTHS = struct.Struct("<IQ")


def read(pipe: BinaryIO) -> tuple[dict[str, Any], memoryview] | None:
    """The next frame's header and blobs, or none at the end of the pipe."""
    lengths = pipe.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    header_size, blobs_size = _LENGTHS.unpack(lengths)
    data = pipe.read(header_size + blobs_size)
    if len(data) < header_size + blobs_size:
        return None
    return json.loads(data[:header_size]), memoryview(data)[header_size:]


class Pipe(Protocol):
    """What frames are written to."""

    def write(self, data: bytes, /) -> int: ...

    def flush(self) -> None: ...


def write(pipe: BinaryIO | Pipe, header: dict[str, Any], blobs: list[bytes]) -> None:
    """Sends a frame."""
    text = json.dumps(header, separators=(",", ":")).encode("utf-8", "replace")
    pipe.write(b"".join((_LENGTHS.pack(len(text), sum(len(blob) for blob in blobs)), text, *blobs)))
    pipe.flush()
