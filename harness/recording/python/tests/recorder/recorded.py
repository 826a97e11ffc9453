"""Tools of the recorder's tests: memory that looks like torch's, and part files read back.

The tests run with or without torch, in any toolchain that has pytest; interpreted with TRITON_INTERPRET=1,
otherwise compiled, with a driver that launches nothing.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, Iterator

import pytest

HERE = Path(__file__).resolve().parent
for folder in (HERE.parents[1], HERE.parents[3] / "worker", HERE / "kernels"):
    sys.path.insert(0, str(folder))

import cerith_worker.fake_driver as drivers  # noqa: E402

if find_spec("torch") is None:
    drivers.show_triton_a_torch()

import numpy as np  # noqa: E402
import triton  # noqa: E402
from cerith_worker.memory import Session  # noqa: E402
from cerith_worker.tensor import Tensor, tensor_of  # noqa: E402
from part_frames import frames  # noqa: E402

from cerith_triton.recorder import Options, Recorder  # noqa: E402

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
VERSION = tuple(int(part) for part in triton.__version__.split(".")[:2])

interpreted = pytest.mark.skipif(not INTERPRETED, reason="needs TRITON_INTERPRET=1")
compiled = pytest.mark.skipif(INTERPRETED, reason="needs a run without TRITON_INTERPRET")


def since(*version: int) -> pytest.MarkDecorator:
    """For what older versions cannot do."""
    return pytest.mark.skipif(version > VERSION, reason=f"Triton {triton.__version__}")


class Memory:
    """Tensors in storages, on the CPU or on the GPU that is not there."""

    def __init__(self) -> None:
        self.session = Session()
        self.device = "cpu" if INTERPRETED else "cuda"

    def storage(self, data: np.ndarray[Any, Any], device: str | None = None) -> int:
        self.session.add(device or self.device, np.frombuffer(data.tobytes(), np.uint8), 0, 0)
        return len(self.session.storages) - 1

    def tensor(
        self, data: np.ndarray[Any, Any], dtype: str | None = None, device: str | None = None
    ) -> Tensor:
        """A contiguous tensor in a storage of its own."""
        shape = list(data.shape)
        strides = [int(np.prod(shape[at + 1 :], dtype=int)) for at in range(len(shape))]
        return self.view(self.storage(data, device), dtype or str(data.dtype), shape, strides, 0)

    def view(self, storage: int, dtype: str, shape: list[int], strides: list[int], offset: int) -> Tensor:
        return tensor_of(self.session, [storage, dtype, shape, strides, offset])


class Recorded:
    """What the part files in a folder say."""

    def __init__(self, folder: Path) -> None:
        self.bytes: dict[str, bytes] = {}
        self.frames: list[dict[str, Any]] = []
        for frame, content in frames(folder):
            if frame["frame"] == "bytes":
                assert len(content) == frame["size"]
                assert frame["hash"] not in self.bytes, "bytes are written once"
                self.bytes[frame["hash"]] = content
            elif frame["frame"] == "ended":
                self.end(frame)
            else:
                self.frames.append(frame)

    def end(self, ended: dict[str, Any]) -> None:
        """Puts the end of a launch into its frame."""
        launch = next(one for one in self.launches if one["launch"] == ended["launch"])
        launch.update({key: value for key, value in ended.items() if key not in ("frame", "after")})
        for storage, after in zip(launch["storages"], ended.get("after", ())):
            storage["after"] = after

    def frames_of(self, kind: str) -> list[dict[str, Any]]:
        return [frame for frame in self.frames if frame["frame"] == kind]

    @property
    def launches(self) -> list[dict[str, Any]]:
        return self.frames_of("launch")

    def contents(self, launch: dict[str, Any], name: str, when: str) -> bytes:
        """The bytes of the storage that a parameter shows first."""
        storage = next(one for one in launch["storages"] if one["name"] == name)
        return self.bytes[storage[when]]


@pytest.fixture
def memory() -> Iterator[Memory]:
    memory = Memory()
    yield memory
    memory.session.close()


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Records a call of a function; returns the frames of the part files, with `counts`."""
    fake = None if INTERPRETED and VERSION < (3, 3) else drivers.FakeDriver()
    if not INTERPRETED:
        from cerith_worker import recorder as launches

        quiet = SimpleNamespace(place=lambda address: (0, 0), find_passed=lambda number: None, storages=[])
        fake = launches.RecordingDriver(launches.Recorder(quiet), 90)
    with drivers.install_fake(fake):

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
                launches=found.launches,
                frames_of=found.frames_of,
                contents=found.contents,
                counts=counts,
                folder=folder,
            )

        yield recorded


if not INTERPRETED:
    from cerith_worker.recorder import prepare

    prepare()

# Before kernels with tuners: see `hooks.prepare`. After the driver's own changes to these.
import cerith_triton.checking  # noqa: E402, F401
