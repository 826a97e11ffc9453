"""Triton's compiler, ended after one of its stages, so that the IR of that stage is all that it makes; and
whether what it makes says which lines it comes from."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Any, Iterator

# What Triton's frontend makes; no stage of the compiler's own.
SOURCE = "source"
_NO_LINES = "TRITON_DISABLE_LINE_INFO"


@contextmanager
def ended_after(stage: str | None) -> Iterator[None]:
    """Triton compiles up to this stage (`source`, `ttir`, `ttgir`), and says nothing of the machine code that
    it does not make; none: to the end."""
    if stage is None:
        yield
        return
    from triton.backends import backends

    backend: Any = backends["nvidia"].compiler
    declared = {name: vars(backend)[name] for name in ("add_stages", "hash")}
    add, key = backend.add_stages, backend.hash

    def added(self: Any, stages: dict[str, Any], *args: Any) -> None:
        add(self, stages, *args)
        made = dict(stages)
        stages.clear()
        for name, make in made.items():
            stages[name] = _unchanged if stage == SOURCE else make
            if stage in (name, SOURCE):
                break
        stages[self.binary_ext] = _nothing

    def hashed(self: Any) -> str:
        # Triton keeps what it compiled by this.
        return f"{key(self)}-{stage}"

    backend.add_stages, backend.hash = added, hashed
    try:
        yield
    finally:
        for name, value in declared.items():
            setattr(backend, name, value)


@contextmanager
def lined(wanted: bool) -> Iterator[None]:
    """What Triton makes says which lines it comes from, if that is wanted."""
    without = os.environ.pop(_NO_LINES, None) if wanted else None
    try:
        yield
    finally:
        if without is not None:
            os.environ[_NO_LINES] = without


def _unchanged(module: Any, _metadata: dict[str, Any]) -> Any:
    return module


def _nothing(_module: Any, metadata: dict[str, Any]) -> bytes:
    """No machine code, and what the stages that are left out would have said of it."""
    metadata.update(name="", shared=0)
    return b""
