"""Gates: what is launched in a block or a function is recorded, and judged when it ends.

Left out: how it is judged (`judging`), and gates around tests (`pytest_plugin`).
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, Sequence, TypeVar, final, overload

from cerith_triton import binary, judging
from cerith_triton.judging import CerithError, Disagreement, Report
from cerith_triton.library import parse_options
from cerith_triton.recorder import Recorder

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Settings:
    """The settings of a gate; `gate` documents each."""

    engines: Sequence[str] = ()
    filter: Sequence[str] = ()
    max_bytes: int | None = None
    sample: str = "layout"
    undefined: bool = False
    strict: bool = False
    keep: str | None = None
    preflight: bool = False
    masked_zero: bool = False


@final
class Gate:
    """The result of `gate(…)`: a context manager, which returns itself, and a decorator."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._recorder: Recorder | None = None
        self._folder = Path()
        self.report: Report | None = None
        """The result of the launches, once they are judged."""

    @property
    def _sample(self) -> str:
        """Before a launch it matters what its bytes are."""
        settings = self._settings
        return "data" if settings.preflight and settings.sample == "layout" else settings.sample

    @property
    def recording(self) -> bool:
        """Whether it has been started and has not ended."""
        return self._recorder is not None

    def start(self) -> None:
        """Begins to record. Raises `CerithError` if the program `cerith` is not there."""
        if self.recording:
            raise RuntimeError("this gate has been started already")
        settings = self._settings
        binary.find()
        if settings.keep is not None:
            _make_room(Path(settings.keep))
        wanted = parse_options(settings.filter, settings.max_bytes, self._sample)
        self._folder = Path(tempfile.mkdtemp(prefix="cerith-"))
        preflight = binary.find() if settings.preflight else None
        self._recorder = Recorder(self._folder / "parts", wanted, preflight=preflight)
        (self._folder / "parts").mkdir()
        self._recorder.start()

    def finish(self) -> Report:
        """Ends recording and has the launches judged. A verdict does not raise.

        If the gate fails, the recording is kept: in `keep`, or otherwise in a temporary folder.

        Raises `CerithError` if they cannot be judged.
        """
        if self._recorder is None:
            raise RuntimeError("this gate has not been started")
        self._recorder.stop()
        self._recorder = None
        parts, recording = self._folder / "parts", self._folder / "recording"
        report = Report()
        try:
            # A process that launches nothing writes nothing.
            if any(parts.iterdir()):
                judging.collect(parts, recording, self._sample)
                report = self._judge(recording)
        finally:
            shutil.rmtree(parts if report.failed else self._folder, ignore_errors=True)
        self.report = report
        return report

    def _judge(self, recording: Path) -> Report:
        settings = self._settings

        def judge_at(place: Path) -> Report:
            return judging.judge(
                place, settings.engines, settings.undefined, settings.strict, settings.masked_zero
            )

        report = judge_at(recording)
        if not report.failed:
            report.recording = None
        elif settings.keep is not None:
            keep = Path(settings.keep)
            keep.parent.mkdir(parents=True, exist_ok=True)
            _make_room(keep)
            shutil.move(str(recording), str(keep))
            # Messages name files where they stay.
            report = judge_at(keep)
            shutil.rmtree(self._folder, ignore_errors=True)
        return report

    def check(self) -> Report:
        """Judges the launches so far and begins again. Raises `Disagreement` if the gate fails."""
        __tracebackhide__ = True
        try:
            report = self.finish()
        finally:
            self.start()
        if report.failed:
            raise Disagreement(report)
        return report

    def abandon(self) -> None:
        """Ends recording without a verdict. Does nothing if it has ended."""
        if self._recorder is not None:
            self._recorder.stop()
            self._recorder = None
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Gate:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        __tracebackhide__ = True
        if error is None:
            report = self.finish()
            if report.failed:
                raise Disagreement(report)
        elif isinstance(error, Exception):
            # The block's own exception goes on; what Cerith says about the launches before it goes with it.
            with contextlib.suppress(CerithError):
                report = self.finish()
                if report.failed and sys.version_info >= (3, 11):
                    error.add_note(str(Disagreement(report)))
        else:
            self.abandon()

    def __call__(self, function: F) -> F:
        """The function with a gate of its own around each call."""
        settings = self._settings
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def gated_coroutine(*args: Any, **kwargs: Any) -> Any:
                __tracebackhide__ = True
                with Gate(settings):
                    return await function(*args, **kwargs)

            return gated_coroutine  # type: ignore[return-value]

        @functools.wraps(function)
        def run_gated(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            with Gate(settings):
                return function(*args, **kwargs)

        return run_gated  # type: ignore[return-value]


@overload
def gate(function: F) -> F: ...


@overload
def gate(
    *,
    engines: Sequence[str] = (),
    filter: Sequence[str] = (),
    max_bytes: int | None = None,
    sample: str = "layout",
    undefined: bool = False,
    strict: bool = False,
    keep: str | None = None,
    preflight: bool = False,
    masked_zero: bool = False,
) -> Gate: ...


def gate(function: F | None = None, **settings: Any) -> F | Gate:
    """Records launches and has them judged: `@gate`, `@gate(strict=True)`, or `with gate() as gated:`.

    The engines are the reference and what was executed; `engines` adds others, which must be installed
    (`["interpret@3.9.0+host"]`). `filter`, `max_bytes` and `sample` are those of `record`. `undefined=True`
    accepts programs without a defined meaning. `strict=True` rejects launches that could not be
    recorded or judged. `preflight=True` judges each launch that is kept before it runs, too: one that has no
    defined meaning raises `UndefinedLaunch` in its place, where it might crash the process. With
    `masked_zero=True`, lanes that a load masks off, without `other`, are zero, as in kernels that Triton
    compiles for NVIDIA; the language leaves them undefined. `keep` is where the recording of launches that
    are not let through is put, in place of an older one.

    Raises `Disagreement` when the block or function ends, and `CerithError` if the program `cerith` is not
    there or fails. If the block raises, that exception goes on, with Cerith's words as a note (from Python
    3.11 on).
    """
    made = Gate(Settings(**settings))
    return made if function is None else made(function)


def _make_room(keep: Path) -> None:
    """Removes the older recording of that name. Other files are not ours to remove."""
    if (keep / "recording.json").is_file() or (keep.is_dir() and not any(keep.iterdir())):
        shutil.rmtree(keep)
    elif keep.exists():
        raise CerithError(
            f"{keep} exists and is not a recording; name a different folder to keep recordings in"
        )
