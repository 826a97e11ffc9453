"""Launches that Cerith's reference interpreter executes in place of Triton, and comparisons of their results.

While an `Oracle` is entered, no launch of this process reaches Triton. Each is written to a part file, as in
a recording. `cerith oracle` reads it there, executes it and answers, and the storages get the bytes that it
stored. So launches need no GPU. See `checking` for how they are used.
"""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Mapping, NamedTuple, NoReturn, Sequence

import numpy as np

from . import executed, hooks
from .arguments import ArrayTensor
from .binary import CerithError
from .connection import Connection, connect
from .launch import Call, Launch
from .recorder import Options, Recorder
from .storages import Storage

# The recorder's engine for launches of kernels that are not interpreted has a compute capability, and the
# machine need not have a GPU.
_TARGET = 90
# Bytes of a storage, and of all that one run of a launcher launches.
_MAX_STORAGE, _MAX_PART = 1 << 30, 1 << 33
# Bytes of the pattern of memory that nothing wrote.
_PATTERN = 16


class Outcome(NamedTuple):
    """The outcome of a launch that did not finish, or that could not be executed."""

    kernel: str
    outcome: str
    """`undefined`, `rejected`, `unsupported`, `exhausted` or `failed`."""
    text: str
    code: str | None = None
    """The finding's code: `out-of-bounds`."""
    file: str | None = None
    line: int | None = None


class LaunchError(RuntimeError):
    """Raised inside of a launcher, in place of a launch that did not finish."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.text)
        self.outcome = outcome


class Written(NamedTuple):
    """The last launch that had a storage."""

    kernel: str
    launch: int
    storage: int
    content: bytes | None
    """The bytes after it; `None` if nothing wrote them."""
    changed: bool
    """Whether some launch wrote to it."""


class _OracleLaunch(Launch):
    """A launch that is executed by the reference."""

    def _engine(self, on_cpu: bool) -> tuple[str, int | None]:
        if self._call.launcher == "interpret":
            return super()._engine(on_cpu)
        return "cuda", _TARGET

    def _content(self, storage: Storage) -> bytes | None:
        content = super()._content(storage)
        recorder = self._recorder
        if isinstance(recorder, _OracleRecorder) and content is not None:
            if recorder.patterns.get(storage.address) == content:
                storage.why = "uninitialised"
                return None
        return content

    def _skip(self, why: str) -> NoReturn:
        raise LaunchError(Outcome(self._call.name, "unsupported", f"the launch cannot be recorded: {why}"))


class _OracleRecorder(Recorder):
    patterns: dict[int, bytes]
    """The bytes of storages that nothing wrote, by their addresses."""

    def launch(self, call: Call, held: Mapping[int, bytes] | None = None) -> Launch | None:
        super().launch(call, held)
        return _OracleLaunch(self, call, held)

    def part(self) -> str:
        """The part file."""
        return self._part.path


class Oracle:
    """Executes the launches of one run of a launcher, and compares its outputs. A context manager."""

    def __init__(self, folder: Path) -> None:
        """`folder` keeps the part file."""
        options = Options(sample="every", max_bytes=_MAX_STORAGE, max_size=_MAX_PART)
        self._recorder = _OracleRecorder(folder, options)
        self._recorder.patterns = {}
        self._connection: Connection | None = None
        self._lock = threading.RLock()
        self._before: hooks.Executor | None = None
        self._pid = os.getpid()
        self._written: dict[int, Written] = {}
        # Memory that is freed is used again: an address names one storage as long as none is.
        self._held: list[Any] = []
        self._tuners: dict[int, tuple[Any, dict[Any, Any]]] = {}
        self._exact: list[str] = []
        self._dtypes: list[str] = []
        self.launches = 0
        """Launches that were made."""
        self.outcome: Outcome | None = None
        """The outcome of the first launch that did not finish."""
        self.notes: list[str] = []
        """Remarks for the report."""
        self.configuration = 0
        """Chooses the configurations of autotuners, modulo their number."""

    def __enter__(self) -> Oracle:  # noqa: PYI034 (`Self` is newer than Python 3.8)
        executed.watch()
        hooks.install()
        self._before, hooks.executor = hooks.executor, self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        hooks.executor = self._before
        for tuner, cache in self._tuners.values():
            # Nothing was measured.
            tuner.cache.clear()
            tuner.cache.update(cache)

    def close(self) -> None:
        """Ends the connection and the part file. The comparisons come before."""
        self._recorder.stop()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # What the hooks call.

    def execute(self, call: Call, grid: Any) -> None:
        """Executes a launch. Raises `LaunchError` if it does not finish, and after such a launch."""
        __tracebackhide__ = True
        with self._lock:
            if self.outcome is not None:
                # The launcher caught the exception, and goes on without a result.
                raise LaunchError(self.outcome)
            if self._pid != os.getpid():
                raise CerithError("the launcher forked a process, and the launches of that cannot be checked")
            values = {
                name: ArrayTensor(value) if isinstance(value, np.ndarray) else value
                for name, value in call.values.items()
            }
            sizes = grid(dict(call.values)) if callable(grid) else grid
            try:
                self._execute(call._replace(values=values), sizes)
            except LaunchError as error:
                self.outcome = error.outcome
                raise

    def refuse(self, reason: str) -> None:
        """Raises for a launch that cannot be executed here."""
        self.outcome = Outcome("a kernel", "unsupported", f"the launch cannot be executed: {reason}")
        raise LaunchError(self.outcome)

    def choose_configuration(self, tuner: Any, name: str, configurations: Sequence[Any]) -> Any:
        """The configuration that is taken without measuring. It is noted."""
        cache = getattr(tuner, "cache", None)
        if isinstance(cache, dict):
            self._tuners.setdefault(id(tuner), (tuner, dict(cache)))
        count = len(configurations)
        at = self.configuration % count
        nth = "the first" if not at else f"number {at + 1}"
        note = f"`{name}` runs with {nth} of its {count} configurations: {configurations[at]}"
        if note not in self.notes:
            self.notes.append(note)
        return configurations[at]

    def note_empty(self, tensor: Any) -> None:
        """Fills a tensor that nothing wrote with a pattern, by which that is seen at a launch."""
        try:
            storage = _storage_of(tensor)
        except (RuntimeError, NotImplementedError):
            # It has no memory.
            return
        # A tensor on torch's `meta` has a size, but no address.
        if storage.address and 0 < storage.size <= _MAX_STORAGE:
            pattern = (os.urandom(_PATTERN) * (storage.size // _PATTERN + 1))[: storage.size]
            _write(storage, pattern)
            self._recorder.patterns[storage.address] = pattern
            self._held.append(storage.held)

    def _execute(self, call: Call, grid: Any) -> None:
        launch = self._recorder.launch(call)
        assert launch is not None
        self.launches += 1
        launch.begin(grid)
        storages, before = launch._storages, launch._before
        number = launch._number
        if number is None:
            raise CerithError(f"the launch of {call.name} was not recorded: the recorder has ended")
        for storage in storages:
            if storage.before is None and storage.why != "uninitialised":
                size = f"`{storage.name}` has {storage.size} bytes"
                raise LaunchError(
                    Outcome(call.name, "exhausted", f"{size}, and a check at most {_MAX_STORAGE}")
                )
        answer = self._ask({"request": "launch"})
        if answer["outcome"] != "finished":
            text = str(answer.get("text") or answer["outcome"])
            code, file, line = answer.get("code"), answer.get("file"), answer.get("line")
            raise LaunchError(Outcome(call.name, str(answer["outcome"]), text, code, file, line))
        self.notes += [text for text in answer.get("warnings", ()) if text not in self.notes]
        after = list(before)
        stored = {int(change["storage"]) for change in answer.get("changed", ())}
        for change in answer.get("changed", ()):
            assert self._connection is not None
            found = self._connection.read(int(change["bytes"]))
            if len(found) != storages[change["storage"]].size:
                raise CerithError("`cerith oracle` answered with a storage of another size")
            after[change["storage"]] = found
        for index, (storage, content) in enumerate(zip(storages, after)):
            known = self._written.get(storage.address)
            changed = index in stored
            if changed and content is not None:
                _write(storage, content)
                self._recorder.patterns.pop(storage.address, None)
            changed |= known is not None and known.changed
            self._written[storage.address] = Written(call.name, number, index, content, changed)
        self._held += [storage.held for storage in storages]
        self._recorder.write_end(number, storages, list(zip(before, after)), None, 0.0)

    def writer_of(self, tensor: Any) -> Written | None:
        """The last launch that had the storage of a tensor; `None` if there is none."""
        storage = ArrayTensor(tensor) if isinstance(tensor, np.ndarray) else tensor
        return self._written.get(int(storage.untyped_storage().data_ptr()))

    def list_written(self) -> list[int]:
        """The addresses of storages that launches wrote."""
        return [address for address, one in self._written.items() if one.changed]

    @property
    def changed_anything(self) -> bool:
        """Whether some launch changed some storage."""
        return any(one.changed for one in self._written.values())

    def read_storage(self, tensor: Any) -> bytes:
        """The bytes of a tensor's storage as they are now."""
        return _storage_of(tensor).read()

    def name_exact(self, files: Sequence[str], dtypes: Sequence[str]) -> None:
        """Names files with the values of arguments, as float64, and the arguments' dtypes. The launcher
        computed other floats that a launch finds."""
        self._exact, self._dtypes = list(files), list(dtypes)

    def compare(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a comparison."""
        files = [str(one["expected"]) for one in request["outputs"]]
        data = [*self._dtypes, *(str(one["dtype"]) for one in request["outputs"])]
        return self._ask({"request": "compare", "data": data, **request}, files)

    # The other side.

    def _ask(self, request: Mapping[str, Any], files: Sequence[str] = ()) -> dict[str, Any]:
        if self._connection is None:
            self._connection = connect(self._recorder.part())
            if self._exact:
                exact = {"request": "arguments", "values": self._exact, "data": self._dtypes}
                self._ask(exact, self._exact)
        answer = self._connection.ask(request, files)
        if request["request"] != "launch" and "outcome" in answer:
            raise CerithError(f"`cerith oracle` failed: {answer.get('text')}")
        return answer


def _storage_of(tensor: Any) -> Storage:
    holder = ArrayTensor(tensor) if isinstance(tensor, np.ndarray) else tensor
    held = holder.untyped_storage()
    on_cpu = str(getattr(holder.device, "type", holder.device)) == "cpu"
    return Storage(held, int(held.data_ptr()), on_cpu, "a tensor")


def _write(storage: Storage, content: bytes) -> None:
    """Replaces the bytes of a storage."""
    if storage.on_cpu:
        ctypes.memmove(storage.held.data_ptr(), content, storage.size)
        return
    host = storage.held.cpu()
    ctypes.memmove(host.data_ptr(), content, storage.size)
    storage.held.copy_(host)


class Forbidden:
    """Refuses launches, while a reference function runs: it must not be a kernel itself."""

    def __init__(self) -> None:
        self.kernel: str | None = None
        self._before: hooks.Executor | None = None

    def __enter__(self) -> Forbidden:  # noqa: PYI034 (`Self` is newer than Python 3.8)
        hooks.install()
        self._before, hooks.executor = hooks.executor, self
        return self

    def __exit__(self, *_: object) -> None:
        hooks.executor = self._before

    def execute(self, call: Call, grid: Any) -> None:
        """Raises for every launch."""
        self.kernel = call.name
        raise CerithError(f"the reference function launches the kernel `{call.name}`")

    def refuse(self, reason: str) -> None:
        """Raises for every launch."""
        self.kernel = "a kernel"
        raise CerithError(f"the reference function launches a kernel: {reason}")

    def choose_configuration(self, tuner: Any, name: str, configurations: Sequence[Any]) -> Any:
        """The first one: the launch that follows is refused."""
        return configurations[0]


def write_expected(folder: Path, values: Sequence[Any], name: str) -> list[str]:
    """Writes arrays of float64 or int64 for `cerith oracle`, row-major and little-endian; their files."""
    files = []
    for at, array in enumerate(values):
        kind = "f64" if array.dtype == np.float64 else "i64"
        path = folder / f"{name}-{at}.{kind}"
        np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tofile(path)
        files.append(str(path))
    return files
