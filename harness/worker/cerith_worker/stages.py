"""Triton's compiler, ended after one of its stages, so that the IR of that stage is all that it makes; and
whether what it makes says which lines it comes from."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
import tempfile
from contextlib import contextmanager
from typing import Any, Callable, Iterator

# The output of Triton's frontend; not a stage of the compiler's own.
SOURCE = "source"
_NO_LINES = "TRITON_DISABLE_LINE_INFO"
# With it, MLIR's pass manager prints the IR before each pass.
_DUMP = "MLIR_ENABLE_DUMP"
# How it begins what it prints; after the last pass there is no next one to be before.
_END = "// -----// IR Dump Before end () ('builtin.module' operation) //----- //\n"
# How this module begins what a pass said that failed: the last one that was printed.
_FAILED = "// -----// The pass failed //----- //\n"
_PR_SET_PDEATHSIG = 1
# Looked up now: where files are tracked, `ctypes` is taken for user code's.
_PRCTL = ctypes.CDLL(None).prctl
_Make = Callable[[Any, "dict[str, Any]"], Any]


@contextmanager
def ended_after(stage: str | None, passes: bool = False) -> Iterator[None]:
    """Triton compiles up to this stage (`source`, `ttir`, `ttgir`), without a report about the missing
    machine code; None: to the end. With `passes` the result is the IR before each pass and after the last."""
    if stage is None:
        yield
        return
    from triton.backends import backends

    backend: Any = backends["nvidia"].compiler
    declared = {name: vars(backend)[name] for name in ("add_stages", "hash")}
    add, key = backend.add_stages, backend.hash

    def add_inspected(self: Any, stages: dict[str, Any], *args: Any) -> None:
        add(self, stages, *args)
        made = dict(stages)
        stages.clear()
        printed: list[str] = []
        for name, make in made.items():
            stages[name] = _unchanged if stage == SOURCE else _printing(make, printed) if passes else make
            if stage in (name, SOURCE):
                break
        if passes:
            stages["passes"] = lambda module, _metadata: _joined(printed, module)
        stages[self.binary_ext] = _nothing

    def hash_inspected(self: Any) -> str:
        # Triton keeps what it compiled by this.
        return f"{key(self)}-{stage}-{passes}"

    backend.add_stages, backend.hash = add_inspected, hash_inspected
    try:
        yield
    finally:
        for name, value in declared.items():
            setattr(backend, name, value)


@contextmanager
def with_lines(wanted: bool) -> Iterator[None]:
    """Makes Triton's IR carry source lines, on request."""
    without = os.environ.pop(_NO_LINES, None) if wanted else None
    try:
        yield
    finally:
        if without is not None:
            os.environ[_NO_LINES] = without


class _Failed:
    """The IR that remains of a module after a pass has failed."""

    def __init__(self, why: str) -> None:
        self.why = why

    def __str__(self) -> str:
        return ""


def _joined(printed: list[str], module: Any) -> str:
    end = _FAILED + module.why if isinstance(module, _Failed) else _END + str(module)
    return "".join([*printed, end])


def _printing(make: _Make, printed: list[str]) -> _Make:
    """The stage, and what MLIR prints meanwhile. It prints past Python, to the process's standard error."""

    def printing_module(module: Any, metadata: dict[str, Any]) -> Any:
        if isinstance(module, _Failed):
            return module
        sys.stderr.flush()
        before, stderr = os.environ.get(_DUMP), os.dup(2)
        os.environ[_DUMP] = "1"
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), 2)
            try:
                if died := _death(make, module, metadata):
                    return _Failed(died)
                # Print the other process's output again.
                file.seek(0)
                file.truncate()
                return make(module, metadata)
            except RuntimeError as error:
                return _Failed(str(error))
            finally:
                sys.stderr.flush()
                os.dup2(stderr, 2)
                os.close(stderr)
                if before is None:
                    del os.environ[_DUMP]
                else:
                    os.environ[_DUMP] = before
                file.seek(0)
                printed.append(file.read().decode(errors="replace"))

    return printing_module


def _death(make: _Make, module: Any, metadata: dict[str, Any]) -> str:
    """How the stage ends a process that it is tried in; nothing if it does not. A compiler that aborts takes
    its printed text with it, unless another process has the file."""
    process = os.fork()
    if not process:
        try:
            _PRCTL(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
            faulthandler.disable()
            make(module, metadata)
        finally:
            os._exit(0)
    _, status = os.waitpid(process, 0)
    if not os.WIFSIGNALED(status):
        return ""
    return f"the compiler crashed: {signal.strsignal(os.WTERMSIG(status))}"


def _unchanged(module: Any, _metadata: dict[str, Any]) -> Any:
    return module


def _nothing(_module: Any, metadata: dict[str, Any]) -> bytes:
    """No machine code, and what the stages that are left out would have said of it."""
    metadata.update(name="", shared=0)
    return b""
