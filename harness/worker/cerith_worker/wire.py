"""Frames on the pipe: lengths of header and blobs, a JSON header, then raw bytes that the header divides into
blobs."""

from __future__ import annotations

import json
import struct
from json import encoder
from typing import Any, BinaryIO, Callable, NamedTuple

# The protocol's version. Raised with every change of a header's meaning.
PROTOCOL = 8

LENGTHS = struct.Struct("<IQ")


def _make_encoder() -> Callable[[Any], str]:
    """Encodes as `json.dumps` does now: a user's file may replace that function later."""
    join = "".join
    make: Any = getattr(encoder, "c_make_encoder", None)
    if make is None:
        return json.JSONEncoder(separators=(",", ":")).encode
    escape: Any = encoder.encode_basestring_ascii
    encode = make(None, None, escape, None, ":", ",", False, False, True)
    return lambda value: join(encode(value, 0))


_encode = _make_encoder()


class Frame(NamedTuple):
    """A frame as it came."""

    lengths: bytes
    data: bytes

    def parse(self) -> tuple[dict[str, Any], memoryview]:
        """Its header and blobs."""
        header_size, _ = LENGTHS.unpack(self.lengths)
        return json.loads(self.data[:header_size]), memoryview(self.data)[header_size:]


def receive(pipe: BinaryIO) -> Frame | None:
    """The next frame, or None at the end of the pipe."""
    lengths = pipe.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    size = sum(LENGTHS.unpack(lengths))
    data = pipe.read(size)
    return Frame(lengths, data) if len(data) == size else None


def read(pipe: BinaryIO) -> tuple[dict[str, Any], memoryview] | None:
    """The next frame's header and blobs, or None at the end of the pipe."""
    frame = receive(pipe)
    return None if frame is None else frame.parse()


def write(pipe: BinaryIO, header: dict[str, Any], blobs: list[bytes]) -> None:
    """Sends a frame."""
    text = _encode(header).encode("utf-8", "replace")
    pipe.write(b"".join((LENGTHS.pack(len(text), sum(len(blob) for blob in blobs)), text, *blobs)))
    pipe.flush()
