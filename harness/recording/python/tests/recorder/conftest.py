"""The recorder's tests, where there is a Triton to record."""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("triton") and find_spec("numpy"):
    from recorded import memory, record

    __all__ = ["memory", "record"]
else:
    collect_ignore_glob = ["*"]
