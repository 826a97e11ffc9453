"""A launch that may be kept: inspected before it runs, and after.

Inspections run in the order of their cost. See `recorder` for which launches are kept, and for writing
them.
"""

from __future__ import annotations

import operator
import os
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Sequence

from . import hooks
from .failures import Unsayable, describe_error, kind_of, message_of
from .preflight import UndefinedLaunch
from .source import Source, source_of
from .storages import Storage, is_capturing, wait
from .values import Values

if TYPE_CHECKING:
    from .recorder import Recorder

_COMMON = (int, float, bool, str, type(None))


class Call(NamedTuple):
    """A launch as Triton is asked for it."""

    # The object that Triton's decorators made, or the function in it.
    kernel: Any
    name: str
    # "interpret" or "cuda".
    launcher: str
    # Every parameter, in order.
    values: Mapping[str, Any]
    options: Mapping[str, Any]
    # None until Triton asks for it.
    grid: Sequence[int] | None


# Kernels whose source is known, by the `id`s of the kernel and of functions that are its arguments.
_sources: dict[tuple[int, ...], tuple[Any, Source | Unsayable]] = {}
# Parameters of kernels whose 64-bit integers were not addresses, so that the search is not repeated.
_no_addresses: set[tuple[str, str]] = set()
_sources_lock = threading.Lock()


def _source(kernel: Any, extras: Sequence[Any]) -> Source:
    key = (id(kernel), *map(id, extras))
    known = _sources.get(key)
    if known is not None:
        source = known[1]
        if isinstance(source, Unsayable):
            raise source
        if source.current():
            return source
    with _sources_lock:
        found: Source | Unsayable
        try:
            found = source_of(kernel, extras)
        except Unsayable as error:
            found = Unsayable(*error.args)
        except Exception as error:  # noqa: BLE001 (whatever there is in a user's module)
            found = Unsayable(f"its text could not be taken: {kind_of(error)}: {message_of(error)}")
        # Another kernel may get the place of one that is gone.
        held = [
            weakref.ref(one, lambda _: _sources.pop(key, None)) for one in (kernel, *extras) if _weak(one)
        ]
        _sources[key] = (held, found)
    if isinstance(found, Unsayable):
        raise found
    return found


def _weak(value: Any) -> bool:
    return getattr(type(value), "__weakrefoffset__", 0) > 0


def _extras(values: Any, found: list[Any]) -> list[Any]:
    """Functions and members of enums among argument values."""
    for value in values:
        kind = type(value)
        if kind in _COMMON or hasattr(value, "data_ptr"):
            continue
        if isinstance(value, (tuple, list)):
            _extras(value, found)
        elif kind.__name__ == "constexpr":
            _extras((value.value,), found)
        elif not isinstance(value, _COMMON) and (
            hasattr(value, "fn") or callable(value) or hasattr(kind, "__members__")
        ):
            found.append(value)
    return found


def _running_test() -> str | None:
    """The test that pytest runs in this process: `tests/test_core.py::test_dot[f16]`."""
    test, _, phase = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")
    return test if test and phase == "(call)" else None


class Launch:
    """A launch that may be kept."""

    def __init__(self, recorder: Recorder, call: Call, held: Mapping[int, bytes] | None) -> None:
        self._recorder = recorder
        self._held = held
        self._call = call
        self._settled = False
        self._source: Source | None = None
        # Whether a CUDA graph is being captured, while nothing can be read.
        self._graph = False
        self._storages: list[Storage] = []
        self._before: list[bytes | None] = []
        # Its number in the part file, once it is there.
        self._number: int | None = None
        self._launched = 0.0

    def begin(self, grid: Any) -> None:
        """The launch has its grid, and comes next. Raises `UndefinedLaunch` in its place if it is judged
        before and has no defined meaning."""
        __tracebackhide__ = True
        if self._settled or self._source is not None:
            return
        began = time.perf_counter()
        undefined = None
        try:
            self._begin(grid)
            # A finished launch cannot be held back.
            if self._number is not None and self._held is None:
                undefined = self._recorder.undefined()
                if undefined is not None:
                    self._settled = True
                    self._recorder.write_refusal(self._number, undefined)
        except Unsayable as error:
            self._skip(str(error))
        except Exception as error:  # noqa: BLE001
            self._skip(f"{kind_of(error)}: {message_of(error)}")
        self._launched = time.perf_counter()
        self._recorder.spend(self._launched - began)
        if undefined is not None:
            raise UndefinedLaunch(undefined)

    def _begin(self, grid: Any) -> None:
        call, recorder = self._call, self._recorder
        extras = _extras(call.values.values(), [])
        source = _source(call.kernel, extras)
        values = Values(lambda value: source.names[id(value)])
        args = [(name, values.describe(name, value)) for name, value in call.values.items()]
        options = values.describe_options(call.options)
        sizes = [operator.index(size) for size in grid]
        if not 1 <= len(sizes) <= 3:
            raise Unsayable(f"a grid of {len(sizes)} sizes")
        storages = values.storages
        if values.find_addresses() and not storages.all:
            # The storages determine the launch's device.
            values.find_live()
        on_cpu = all(storage.on_cpu for storage in storages.all)
        if call.launcher == "interpret" and not on_cpu and getattr(call.kernel, "pre_run_hooks", None):
            raise Unsayable("a hook runs before it on copies of its arguments, which cannot be seen")
        engine, target = self._engine(on_cpu)
        self._graph = not on_cpu and is_capturing()
        # A launch with its bytes is not the same as one of a graph without them.
        layout = (engine, target, self._graph, tuple(sizes), tuple(values.layout))
        if not recorder.needs_layout(source.digest, layout):
            self._settled = True
            return
        if self._graph:
            for storage in storages.all:
                if storage.pointers:
                    name = storage.name
                    raise Unsayable(
                        f"a CUDA graph was being captured, and `{name}` may hold addresses, which cannot be"
                        " read meanwhile"
                    )
        values.find_live()
        if call.launcher != "interpret" and recorder.options.data and not self._graph:
            wait()
        contents = [self._content(storage) for storage in storages.all]
        known = len(contents)
        pointers = tuple((source.digest, one.name) for one in storages.all if one.pointers)
        if pointers:
            everywhere = not all(one in _no_addresses for one in pointers)
            if storages.find_addresses(contents, everywhere):
                _no_addresses.update(pointers)
            contents += [self._content(storage) for storage in storages.all[known:]]
        if not recorder.needs_contents(source.digest, layout, contents):
            self._settled = True
            return
        header = {"engine": engine, "target": target, "grid": sizes, "args": args, "options": options}
        test = _running_test()
        if test is not None:
            header["test"] = test
        self._storages, self._before, self._source = storages.all, contents, source
        self._number = recorder.write(source, header, storages.all, contents)
        self._settled = self._number is None

    def _engine(self, on_cpu: bool) -> tuple[str, int | None]:
        if self._call.launcher == "interpret":
            return ("interpret+host" if on_cpu else "interpret"), None
        if on_cpu and self._call.launcher == "inductor":
            return "inductor", None
        return "cuda", hooks.find_target()

    def _content(self, storage: Storage) -> bytes | None:
        options = self._recorder.options
        if not options.data:
            storage.why = "no-data"
        elif self._graph:
            storage.why = "cuda-graph"
        elif storage.size > options.max_bytes:
            storage.why = "max-bytes"
        elif self._held is None:
            return storage.read()
        elif storage.address in self._held:
            return self._held[storage.address]
        else:
            storage.why = "unseen"
        return None

    def end(self, error: BaseException | None) -> None:
        """The launch is over, with an exception or without."""
        if self._settled:
            return
        ended = time.perf_counter()
        try:
            if self._source is None:
                why = "no launch happened"
                self._skip(why if error is None else f"{why}: {kind_of(error)}")
            elif error is not None and not isinstance(error, Exception):
                self._skip(f"ended by {kind_of(error)}")
            else:
                self._end(error, ended)
        except Exception as broken:  # noqa: BLE001
            self._skip(f"{kind_of(broken)}: {message_of(broken)}")
        finally:
            self._settled = True
            self._recorder.spend(time.perf_counter() - ended)

    def _end(self, error: BaseException | None, ended: float) -> None:
        after: list[bytes | None] = [None] * len(self._storages)
        if error is None:
            try:
                if self._call.launcher != "interpret" and not self._graph:
                    wait()
                after = [
                    None if before is None else storage.read()
                    for storage, before in zip(self._storages, self._before)
                ]
            except Exception as fault:  # noqa: BLE001 (a fault of the kernel's is heard of here first)
                error = fault
        if self._number is not None:
            raised = None if error is None else describe_error(error)
            contents = list(zip(self._before, after))
            seconds = ended - self._launched
            self._recorder.write_end(self._number, self._storages, contents, raised, seconds)

    def _skip(self, why: str) -> None:
        self._settled = True
        if self._number is None:
            self._recorder.skip(self._call.name, why)
        else:
            self._recorder.leave_out(self._number, self._call.name, why)


def renew_after_fork() -> None:
    """Renews locks in a process that was just forked."""
    global _sources_lock
    _sources_lock = threading.Lock()
