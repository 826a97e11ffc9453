"""Part files read back, with the standard library alone."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any, Iterator


def frames(folder: Path) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The frames of every part file in a folder: the header, and the contents of a storage if it has them."""
    for path in sorted(folder.glob("*.part")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            header, payload = struct.unpack_from("<IQ", data, at)
            at += 12
            frame = json.loads(data[at : at + header])
            packed = data[at + header : at + header + payload]
            yield frame, zlib.decompress(packed) if frame["frame"] == "bytes" else packed
            at += header + payload
