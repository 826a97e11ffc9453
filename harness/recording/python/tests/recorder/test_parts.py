"""Part files, frame by frame."""

from __future__ import annotations

import os
import random
import zlib
from pathlib import Path

import pytest
from recorded import Recorded

from cerith_triton.parts import Part


def test_bytes_are_written_once(tmp_path: Path) -> None:
    part = Part(str(tmp_path))
    first, again = part.write_bytes(b"abc", 1000), part.write_bytes(b"abc", 1000)
    assert first == again and first is not None
    assert part.write_bytes(b"other", 0) is None
    part.close()
    assert Recorded(tmp_path).bytes == {first: b"abc"}


def test_what_does_not_shrink_is_stored(tmp_path: Path) -> None:
    part = Part(str(tmp_path))
    noise = random.Random(0).randbytes(10_000) if hasattr(random.Random, "randbytes") else os.urandom(10_000)
    assert part.write_bytes(noise, 1 << 20)
    after_noise = part.size
    assert part.write_bytes(bytes(10_000), 1 << 20)
    part.close()
    assert 10_000 < after_noise < 10_200
    assert part.size - after_noise < 300
    assert set(Recorded(tmp_path).bytes.values()) == {noise, bytes(10_000)}


def test_a_frame_that_could_not_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = Part(str(tmp_path))
    part.write_frame({"frame": "one"})
    write = os.write

    def full(file: int, data: memoryview) -> int:
        if len(data) < 100:
            raise OSError(28, "No space left on device")
        return write(file, data[:50])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            part.write_frame({"frame": "two"}, bytes(120))
    part.write_frame({"frame": "three"}, zlib.compress(b""))
    part.close()
    assert [frame["frame"] for frame in Recorded(tmp_path).frames] == ["one", "three"]
