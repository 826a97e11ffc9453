"""Recording a part of a program, as `cerith record` records all of one."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator, Sequence

from cerith_triton import binary, judging
from cerith_triton.binary import CerithError
from cerith_triton.recorder import Counts, Options, Recorder


@dataclass
class Recording:
    """A recording, whole when the `with` block of `record` has ended."""

    path: Path
    """The folder: `cerith run PATH` runs it."""
    counts: Counts | None = None
    """The number of launches, and their results. None until the block has ended."""


def parse_options(
    filter: Sequence[str] = (),
    max_bytes: int | None = None,
    sample: str = "layout",
    data: bool = True,
) -> Options:
    """A recorder's options, with its own limit where `max_bytes` is None."""
    limits: dict[str, Any] = {} if max_bytes is None else {"max_bytes": max_bytes}
    patterns = (filter,) if isinstance(filter, str) else tuple(filter)
    return Options(filter=patterns, sample=sample, data=data, **limits)


@contextlib.contextmanager
def record(
    path: str | os.PathLike[str],
    *,
    filter: Sequence[str] = (),
    max_bytes: int | None = None,
    sample: str = "layout",
    data: bool = True,
) -> Iterator[Recording]:
    """Records the launches of a `with` block into a folder that `cerith run` takes.

    `filter`: patterns of kernel names (`["matmul*"]`); none means all. `max_bytes`: a storage with more bytes
    is kept as its layout and a seed. `sample`: which launches are kept: `"layout"` the first of each kernel
    and layout, `"data"` each whose bytes differ too, `"every"` all, `"5"` at most so many of each kernel.
    `data=False`: no bytes, layouts and seeds only.

    The recording is made when the block ends, also when it raises. It holds the code of the kernels and, with
    `data`, what was in the tensors. Launches of processes that the block starts with `fork` are recorded too,
    others are not.

    Raises `CerithError` if the program `cerith` is not there or cannot make the recording, and at once if
    there is something in the folder.
    """
    recording = Recording(Path(path))
    binary.find()
    if recording.path.exists() and (not recording.path.is_dir() or any(recording.path.iterdir())):
        raise CerithError(f"{recording.path} is there and is not empty; name a folder that is not there yet")
    parts = Path(tempfile.mkdtemp(prefix="cerith-"))
    recorder = Recorder(parts, parse_options(filter, max_bytes, sample, data))
    recorder.start()
    try:
        yield recording
    finally:
        recording.counts = recorder.stop()
        try:
            judging.collect(parts, recording.path, sample, data)
        except CerithError as error:
            again = f"cerith record --collect {parts} --out DIR"
            raise CerithError(f"{error}\nwhat was launched is kept: {again}") from error
        shutil.rmtree(parts, ignore_errors=True)
