"""Records the launches of this process into a part file: which are kept, and what is said of them.

What is looked at comes in the order of its cost: the layout of a launch first, bytes only of what is kept.
Nothing that goes wrong here reaches the program: such a launch is counted, with the reason.
"""

from __future__ import annotations

import atexit
import fnmatch
import hashlib
import json
import operator
import os
import platform
import sys
import threading
import time
import weakref
from dataclasses import dataclass, fields
from typing import Any, Mapping, NamedTuple, Sequence

from . import executed, hooks
from .failures import Unsayable, kind_of, message_of, told
from .parts import FORMAT, Part
from .preflight import Preflight, UndefinedLaunch
from .source import Source, source_of
from .storages import Storage, capturing, live_tensors, wait
from .values import Values

# Names of kernels that are not asked for, which are told.
_NAMES = 20
_COMMON = (int, float, bool, str, type(None))


@dataclass(frozen=True)
class Options:
    """What is to be kept."""

    # Globs of kernel names; none for all kernels.
    filter: tuple[str, ...] = ()
    # Bytes of one storage; of larger ones only the size is kept.
    max_bytes: int = 16 << 20
    # "layout", "data", "every", or a number of launches of each kernel.
    sample: str = "layout"
    # Whether bytes are kept at all.
    data: bool = True
    # Bytes of the part file; beyond, no more bytes of storages are kept.
    max_size: int = 1 << 30

    def __post_init__(self) -> None:
        if self.sample not in ("layout", "data", "every") and not self.sample.isdecimal():
            raise ValueError(f"sample must be layout, data, every or a number, not {self.sample!r}")

    @classmethod
    def from_json(cls, text: str) -> Options:
        """Reads what `CERITH_RECORD_OPTIONS` holds; what is left out is as it is by itself."""
        given = json.loads(text)
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(given) - known)
        if unknown:
            raise ValueError(f"options have no {', '.join(unknown)}")
        if "filter" in given:
            given["filter"] = tuple(given["filter"])
        if "sample" in given:
            given["sample"] = str(given["sample"])
        return cls(**given)


class Counts(NamedTuple):
    """What became of the launches of a recording."""

    launches: int
    kept: int
    repeated: int
    filtered: int
    skipped: int
    # By kernel and reason.
    reasons: dict[tuple[str, str], int]


class Call(NamedTuple):
    """A launch as Triton is asked for it."""

    # What Triton's decorators made, or the function in it.
    kernel: Any
    name: str
    # "interpret" or "cuda".
    way: str
    # Every parameter, in order.
    values: Mapping[str, Any]
    options: Mapping[str, Any]
    # None where Triton has yet to ask for it.
    grid: Sequence[int] | None


class Recorder:
    """Records launches while it is started."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        options: Options | None = None,
        *,
        announced: bool = False,
        preflight: str | None = None,
    ) -> None:
        """`announced` has the part file say that this process began, and when it imports Triton. `preflight`
        is the `cerith` that judges each launch before it runs."""
        self._folder = os.path.abspath(os.fspath(folder))
        self.options = options or Options()
        self._announced = announced
        self._preflight = None if preflight is None else Preflight(preflight)
        self._started = False
        self._stopped = False
        self._reset()
        self._seen: set[Any] = set()
        self._times: dict[str, int] = {}

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._part = Part(self._folder)
        self._opened = False
        self._kernels: dict[str, int] = {}
        self._written = 0
        self._launches = self._kept = self._repeated = self._filtered = 0
        self._filtered_kernels: dict[str, None] = {}
        self._reasons: dict[tuple[str, str], int] = {}
        # Of launches that are in the part file.
        self._left_out: dict[tuple[str, str], int] = {}
        self._began = time.perf_counter()
        self._spent = 0.0

    def start(self) -> Recorder:
        """Begins to record, in this process and those that it forks."""
        if not self._started:
            self._started = True
            self._began = time.perf_counter()
            executed.watch()
            hooks.install()
            hooks.active = (*hooks.active, self)
            _recorders.add(self)
            if self._announced:
                self._part.frame({"frame": "python", "pid": os.getpid(), "triton": None})
        return self

    def imported(self, version: str) -> None:
        """Notes that this process has imported Triton."""
        if self._announced:
            with self._lock:
                self._part.frame({"frame": "python", "pid": os.getpid(), "triton": version})

    def stop(self) -> Counts:
        """Ends the recording, and says what became of the launches. May be called again."""
        hooks.active = tuple(one for one in hooks.active if one is not self)
        with self._lock:
            if not self._stopped:
                self._stopped = True
                self._end()
        return self.counts()

    def counts(self) -> Counts:
        """What became of the launches so far."""
        reasons = dict(self._reasons)
        for reason, count in self._left_out.items():
            reasons[reason] = reasons.get(reason, 0) + count
        skipped = sum(reasons.values())
        return Counts(self._launches, self._kept, self._repeated, self._filtered, skipped, reasons)

    def _end(self) -> None:
        if self._launches:
            try:
                self._open()
                for (kernel, why), count in self._reasons.items():
                    self._part.frame({"frame": "skipped", "kernel": kernel, "why": why, "count": count})
                counts = self.counts()
                self._part.frame(
                    {
                        "frame": "end",
                        "launches": counts.launches,
                        "kept": counts.kept,
                        "repeated": counts.repeated,
                        "filtered": counts.filtered,
                        "filtered_kernels": list(self._filtered_kernels),
                        "skipped": counts.skipped,
                        "judged": 0 if self._preflight is None else self._preflight.judged,
                        "seconds": {
                            "run": time.perf_counter() - self._began,
                            "recording": self._spent,
                        },
                    }
                )
            except OSError as error:
                print(f"cerith: the recording could not be ended: {error}", file=sys.stderr)
        self._part.close()
        if self._preflight is not None:
            self._preflight.close()

    def forked(self) -> None:
        """Makes this the recorder of a process that was just forked."""
        self._part.close()
        self._reset()

    def launch(self, call: Call, held: Mapping[int, bytes] | None = None) -> Launch | None:
        """Notes that a launch begins; what follows it, if it may be kept. `held` has what was in its storages
        by their addresses, if it is over."""
        with self._lock:
            self._launches += 1
            if self.options.filter and not any(
                fnmatch.fnmatchcase(call.name, pattern) for pattern in self.options.filter
            ):
                self._filtered += 1
                if len(self._filtered_kernels) < _NAMES:
                    self._filtered_kernels[call.name] = None
                return None
        return Launch(self, call, held)

    def missed(self, error: Exception) -> None:
        """Counts a launch of which nothing can be said."""
        with self._lock:
            self._launches += 1
        self.skip(
            "", str(error) if isinstance(error, Unsayable) else f"{kind_of(error)}: {message_of(error)}"
        )

    def skip(self, kernel: str, why: str) -> None:
        """Counts a launch that cannot become a case."""
        with self._lock:
            key = (kernel, why)
            self._reasons[key] = self._reasons.get(key, 0) + 1

    def spend(self, seconds: float) -> None:
        """Counts time that recording took."""
        self._spent += seconds

    def wants(self, digest: str, layout: Any) -> bool:
        """Whether a launch is to be kept, by its kernel's text and its layout."""
        rule = self.options.sample
        with self._lock:
            if rule in ("every", "data"):
                return True
            known = (digest, layout) in self._seen
            if known or (rule != "layout" and self._times.get(digest, 0) >= int(rule)):
                self._repeated += 1
                return False
            return True

    def takes(self, digest: str, layout: Any, contents: Sequence[bytes | None]) -> bool:
        """Whether a launch that is wanted is kept, now that its bytes are known."""
        rule = self.options.sample
        if rule == "data":
            layout = (layout, tuple(map(_hash, contents)))
        with self._lock:
            if rule != "every":
                if (digest, layout) in self._seen:
                    self._repeated += 1
                    return False
                self._seen.add((digest, layout))
            self._times[digest] = self._times.get(digest, 0) + 1
            return True

    def _open(self) -> None:
        if not self._opened:
            self._opened = True
            modules = sys.modules
            versions = {
                name: str(getattr(modules[name], "__version__", "")) if name in modules else None
                for name in ("triton", "torch", "numpy")
            }
            self._part.frame(
                {
                    "frame": "process",
                    "format": FORMAT,
                    "pid": os.getpid(),
                    "argv": list(getattr(sys, "argv", [])),
                    "python": platform.python_version(),
                    **versions,
                    "platform": f"{sys.platform}-{platform.machine()}",
                }
            )

    def write(
        self,
        source: Source,
        header: dict[str, Any],
        storages: list[Storage],
        contents: list[bytes | None],
    ) -> int | None:
        """Writes a launch that comes next, and what it needs that is not written yet. Its number; None once
        the recording has ended."""
        with self._lock:
            if self._stopped:
                return None
            self._open()
            kernel = self._kernels.get(source.digest)
            if kernel is None:
                kernel = self._kernels[source.digest] = len(self._kernels)
                self._part.frame(
                    {
                        "frame": "kernel",
                        "kernel": kernel,
                        "function": source.function,
                        "files": [{"name": name, "text": text} for name, text in source.files],
                        "inspectable": source.inspectable,
                        "origin": source.origin,
                    }
                )
            for storage, before in zip(storages, contents):
                if before is not None:
                    storage.before = self._part.bytes(before, self.options.max_size)
                    if storage.before is None:
                        storage.why = "max-size"
            said = [
                {
                    "size": storage.size,
                    "name": storage.name,
                    "before": storage.before,
                    "why": storage.why,
                    "addresses": storage.addresses if storage.before is not None else [],
                }
                for storage in storages
            ]
            number = self._written
            self._written += 1
            self._part.frame(
                {"frame": "launch", "launch": number, "kernel": kernel, "storages": said, **header}
            )
            self._kept += 1
            return number

    def undefined(self) -> str | None:
        """What is undefined about the launch that was written last, if launches are judged before they
        run."""
        if self._preflight is None:
            return None
        with self._lock:
            return self._preflight.judge(self._part.path)

    def ended(
        self,
        number: int,
        storages: list[Storage],
        contents: list[tuple[bytes | None, bytes | None]],
        raised: dict[str, Any] | None,
        seconds: float,
    ) -> None:
        """Writes what came of a launch."""
        with self._lock:
            if self._stopped:
                return
            afters: list[str | None] = []
            for storage, (before, after) in zip(storages, contents):
                if storage.before is None or after is None:
                    afters.append(None)
                elif after == before:
                    afters.append(storage.before)
                else:
                    afters.append(self._part.bytes(after, self.options.max_size))
            self._part.frame(
                {"frame": "ended", "launch": number, "after": afters, "raised": raised, "seconds": seconds}
            )

    def refused(self, number: int, words: str) -> None:
        """Writes that a launch does not run, because it is undefined."""
        with self._lock:
            if not self._stopped:
                self._part.frame({"frame": "ended", "launch": number, "refused": words})

    def leave_out(self, number: int, kernel: str, why: str) -> None:
        """Writes that a launch cannot become a case after all."""
        with self._lock:
            if not self._stopped:
                self._part.frame({"frame": "ended", "launch": number, "left_out": why})
                self._kept -= 1
                self._left_out[(kernel, why)] = self._left_out.get((kernel, why), 0) + 1


# Kernels whose source is known, by the `id`s of the kernel and of functions that are its arguments.
_sources: dict[tuple[int, ...], tuple[Any, Source | Unsayable]] = {}
# Parameters of kernels whose 64-bit integers turned out to be no addresses, so that they are not looked for
# again.
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


def _hash(content: bytes | None) -> bytes | None:
    return content if content is None else hashlib.blake2b(content, digest_size=16).digest()


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
        if self._settled or self._source is not None:
            return
        began = time.perf_counter()
        undefined = None
        try:
            self._begin(grid)
            # What is over cannot be held back.
            if self._number is not None and self._held is None:
                undefined = self._recorder.undefined()
                if undefined is not None:
                    self._settled = True
                    self._recorder.refused(self._number, undefined)
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
        values = Values(lambda value: source.names[id(value)], source.attributes)
        args = [(name, values.say(name, value)) for name, value in call.values.items()]
        options = values.options(call.options)
        sizes = [operator.index(size) for size in grid]
        if not 1 <= len(sizes) <= 3:
            raise Unsayable(f"a grid of {len(sizes)} sizes")
        storages = values.storages
        on_cpu = all(storage.on_cpu for storage in storages.all)
        if call.way == "interpret" and not on_cpu and getattr(call.kernel, "pre_run_hooks", None):
            raise Unsayable("a hook runs before it on copies of its arguments, which cannot be seen")
        engine, target = self._engine(on_cpu)
        layout = (engine, target, tuple(sizes), tuple(values.layout))
        if not recorder.wants(source.digest, layout):
            self._settled = True
            return
        self._graph = not on_cpu and capturing()
        if self._graph:
            for storage in storages.all:
                if storage.pointers:
                    name = storage.name
                    raise Unsayable(
                        f"a CUDA graph was being captured, and `{name}` may hold addresses, which cannot be"
                        " read meanwhile"
                    )
        self._check_numbers(values)
        if call.way != "interpret" and recorder.options.data and not self._graph:
            wait()
        contents = [self._content(storage) for storage in storages.all]
        known = len(contents)
        pointers = tuple((source.digest, one.name) for one in storages.all if one.pointers)
        if pointers:
            everywhere = not all(one in _no_addresses for one in pointers)
            if storages.find_addresses(contents, everywhere):
                _no_addresses.update(pointers)
            contents += [self._content(storage) for storage in storages.all[known:]]
        if not recorder.takes(source.digest, layout, contents):
            self._settled = True
            return
        header = {"engine": engine, "target": target, "grid": sizes, "args": args, "options": options}
        self._storages, self._before, self._source = storages.all, contents, source
        self._number = recorder.write(source, header, storages.all, contents)
        self._settled = self._number is None

    def _engine(self, on_cpu: bool) -> tuple[str, int | None]:
        if self._call.way == "interpret":
            return ("interpret+host" if on_cpu else "interpret"), None
        if on_cpu and self._call.way == "inductor":
            return "inductor", None
        return "cuda", hooks.target()

    def _check_numbers(self, values: Values) -> None:
        """Refuses addresses that are passed as numbers: they would mean something else the next time."""
        for name, number in values.numbers:
            if values.storages.holds(number) or any(_covers(tensor, number) for tensor in live_tensors()):
                raise Unsayable(f"`{name}` is an address, passed as an integer")

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
                why = "it did not come to a launch"
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
                if self._call.way != "interpret" and not self._graph:
                    wait()
                after = [
                    None if before is None else storage.read()
                    for storage, before in zip(self._storages, self._before)
                ]
            except Exception as fault:  # noqa: BLE001 (a fault of the kernel's is heard of here first)
                error = fault
        if self._number is not None:
            raised = None if error is None else told(error)
            contents = list(zip(self._before, after))
            seconds = ended - self._launched
            self._recorder.ended(self._number, self._storages, contents, raised, seconds)

    def _skip(self, why: str) -> None:
        self._settled = True
        if self._number is None:
            self._recorder.skip(self._call.name, why)
        else:
            self._recorder.leave_out(self._number, self._call.name, why)


def _covers(tensor: Any, address: int) -> bool:
    try:
        storage = tensor.untyped_storage()
        start = storage.data_ptr()
        return bool(start <= address < start + storage.nbytes())
    except (RuntimeError, NotImplementedError):
        return False


_recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()


def _forked() -> None:
    global _sources_lock
    _sources_lock = threading.Lock()
    for recorder in hooks.active:
        recorder.forked()


def _before_fork() -> None:
    """Has the processes that `multiprocessing` forks end their recordings: they do not end as others do."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None and not getattr(util, "_cerith_records", False):
        util._cerith_records = True  # type: ignore[attr-defined]
        util.register_after_fork(_recorders, lambda _: util.Finalize(None, stop_all, exitpriority=-100))


def stop_all() -> None:
    """Ends every recording of this process."""
    for recorder in hooks.active:
        recorder.stop()


atexit.register(stop_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_forked)
