"""Records launches of this process into a part file: chooses which to keep, and describes them.

Inspections run in the order of their cost: the layout of a launch first, bytes only if it is kept.
Nothing that goes wrong here reaches the program: such a launch is counted, with the reason.
"""

from __future__ import annotations

import atexit
import fnmatch
import hashlib
import json
import os
import platform
import sys
import threading
import time
import weakref
from dataclasses import dataclass, fields
from typing import Any, Mapping, NamedTuple, Sequence

from . import executed, hooks, launch
from .failures import Unsayable, kind_of, message_of
from .launch import Call, Launch
from .parts import FORMAT, Part
from .preflight import Preflight
from .source import Source
from .storages import Storage

# Names of kernels that the filter excludes, for the report.
_NAMES = 20


@dataclass(frozen=True)
class Options:
    """Which launches to keep."""

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
    # Which configuration a tuner takes if there is no GPU to measure them with, from 0.
    config: int = 0

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
    """The results of a recording's launches."""

    launches: int
    kept: int
    repeated: int
    filtered: int
    skipped: int
    # By kernel and reason.
    reasons: dict[tuple[str, str], int]


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
        self._notes: set[str] = set()
        self._reasons: dict[tuple[str, str], int] = {}
        # For launches that are in the part file.
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
                self._part.write_frame({"frame": "python", "pid": os.getpid(), "triton": None})
        return self

    def note_import(self, version: str) -> None:
        """Notes that this process has imported Triton."""
        if self._announced:
            with self._lock:
                self._part.write_frame({"frame": "python", "pid": os.getpid(), "triton": version})

    def stop(self) -> Counts:
        """Ends the recording, and returns the results of the launches. May be called again."""
        hooks.active = tuple(one for one in hooks.active if one is not self)
        with self._lock:
            if not self._stopped:
                self._stopped = True
                self._end()
        return self.counts()

    def counts(self) -> Counts:
        """The results of the launches so far."""
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
                    self._part.write_frame({"frame": "skipped", "kernel": kernel, "why": why, "count": count})
                counts = self.counts()
                self._part.write_frame(
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

    def renew_after_fork(self) -> None:
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

    def count_missed(self, error: Exception) -> None:
        """Counts a launch that cannot be recorded."""
        with self._lock:
            self._launches += 1
        self.skip(
            "", str(error) if isinstance(error, Unsayable) else f"{kind_of(error)}: {message_of(error)}"
        )

    def note(self, text: str) -> None:
        """Prints a remark once."""
        with self._lock:
            new = text not in self._notes
            self._notes.add(text)
        if new:
            print(f"cerith: {text}", file=sys.stderr)

    def skip(self, kernel: str, why: str) -> None:
        """Counts a launch that cannot become a case."""
        with self._lock:
            key = (kernel, why)
            self._reasons[key] = self._reasons.get(key, 0) + 1

    def spend(self, seconds: float) -> None:
        """Counts time that recording took."""
        self._spent += seconds

    def needs_layout(self, digest: str, layout: Any) -> bool:
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

    def needs_contents(self, digest: str, layout: Any, contents: Sequence[bytes | None]) -> bool:
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
            self._part.write_frame(
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
                self._part.write_frame(
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
                    storage.before = self._part.write_bytes(before, self.options.max_size)
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
            self._part.write_frame(
                {"frame": "launch", "launch": number, "kernel": kernel, "storages": said, **header}
            )
            self._kept += 1
            return number

    def undefined(self) -> str | None:
        """The undefined behaviour of the launch that was written last, if launches are judged before they
        run."""
        if self._preflight is None:
            return None
        with self._lock:
            return self._preflight.judge(self._part.path)

    def write_end(
        self,
        number: int,
        storages: list[Storage],
        contents: list[tuple[bytes | None, bytes | None]],
        raised: dict[str, Any] | None,
        seconds: float,
    ) -> None:
        """Writes the result of a launch."""
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
                    afters.append(self._part.write_bytes(after, self.options.max_size))
            self._part.write_frame(
                {"frame": "ended", "launch": number, "after": afters, "raised": raised, "seconds": seconds}
            )

    def write_refusal(self, number: int, words: str) -> None:
        """Writes that a launch does not run, because it is undefined."""
        with self._lock:
            if not self._stopped:
                self._part.write_frame({"frame": "ended", "launch": number, "refused": words})

    def leave_out(self, number: int, kernel: str, why: str) -> None:
        """Writes that a launch cannot become a case after all."""
        with self._lock:
            if not self._stopped:
                self._part.write_frame({"frame": "ended", "launch": number, "left_out": why})
                self._kept -= 1
                self._left_out[(kernel, why)] = self._left_out.get((kernel, why), 0) + 1


def _hash(content: bytes | None) -> bytes | None:
    return content if content is None else hashlib.blake2b(content, digest_size=16).digest()


_recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()


def _forked() -> None:
    launch.renew_after_fork()
    for recorder in hooks.active:
        recorder.renew_after_fork()


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
