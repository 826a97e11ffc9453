"""Fixtures of the recorder's tests: memory, and recordings of what a function launches."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, Iterator

import pytest
from recorded import INTERPRETED, VERSION, Memory, Recorded, drivers

from conch_triton.recorder import Options, Recorder


@pytest.fixture
def memory() -> Iterator[Memory]:
    memory = Memory()
    yield memory
    memory.session.close()


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Calls a function while it is recorded; gives what the part files say, with `counts`."""
    fake = None if INTERPRETED and VERSION < (3, 3) else drivers.FakeDriver()
    if not INTERPRETED:
        from conch_worker import recorder as launches

        quiet = SimpleNamespace(place=lambda address: (0, 0), storages=[])
        fake = launches.RecordingDriver(launches.Recorder(quiet), 90)
    with drivers.installed(fake):

        def recorded(run: Callable[[], object], **options: Any) -> Any:
            folder = tmp_path / str(len(list(tmp_path.iterdir())))
            folder.mkdir()
            recorder = Recorder(folder, Options(**options)).start()
            try:
                run()
            finally:
                counts = recorder.stop()
            found = Recorded(folder)
            return SimpleNamespace(
                launches=found.launches, of=found.of, contents=found.contents, counts=counts, folder=folder
            )

        yield recorded
