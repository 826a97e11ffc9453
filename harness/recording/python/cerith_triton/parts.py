"""Part files: what one process recorded, as frames of a JSON header and bytes.

A frame is the size of the header (u32) and of the payload (u64), little-endian, the header, the payload. A
frame that is cut short ends the file. `harness/recording` reads them.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import time
import zlib
from typing import Any

FORMAT = 2
_HEAD = struct.Struct("<IQ")
# Compression is tried on this many bytes first, to see whether it pays.
_TRIED = 1 << 16


class Part:
    """A part file, made when the first frame is written. Not safe against several threads."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._file: int | None = None
        self.path = ""
        """The file, once it is made."""
        self.size = 0
        self._hashes: set[str] = set()

    def write_frame(self, header: dict[str, Any], payload: bytes = b"") -> None:
        """Writes a frame so that it survives this process."""
        if self._file is None:
            path = self.path = os.path.join(self._folder, f"{os.getpid()}-{time.time_ns()}.part")
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._file = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o600)
        text = json.dumps(header, separators=(",", ":"), ensure_ascii=True).encode("ascii")
        view = memoryview(_HEAD.pack(len(text), len(payload)) + text + payload)
        size = len(view)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except BaseException:
            # A full disk, or the user's Ctrl-C: the next frame begins where this one did.
            os.ftruncate(self._file, self.size)
            raise
        self.size += size

    def write_bytes(self, data: bytes, room: int) -> str | None:
        """Writes the bytes of a storage, unless they are there; returns their hash, or None if the file would
        grow past `room`."""
        digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        if digest not in self._hashes:
            pays = len(zlib.compress(data[:_TRIED], 1)) < 0.8 * min(len(data), _TRIED)
            packed = zlib.compress(data, 1 if pays else 0)
            if self.size + len(packed) > room:
                return None
            self.write_frame({"frame": "bytes", "hash": digest, "size": len(data)}, packed)
            self._hashes.add(digest)
        return digest

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
