"""A kernel that is compiled or interpreted before any other, and the request for it: every process that is
forked later has what Triton finds out and keeps then."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl


@triton.jit  # type: ignore[untyped-decorator]
def kernel(x: Any, B: tl.constexpr) -> None:  # noqa: N803 (a usual name in kernels)
    """Asks a little of the compiler."""
    lanes = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + lanes, mask=lanes < 100, other=0.0)
    total = tl.sum(tl.exp(value) + tl.maximum(value, 1.0), axis=0)
    tl.store(x + lanes, value / (tl.max(value, axis=0) + total), mask=lanes < 100)


def request(compiles: bool) -> tuple[dict[str, Any], memoryview]:
    """A request to compile or to interpret it: its header and blobs."""
    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    launch = {
        "kernel": "kernel",
        "grid": [1],
        "args": [["t", 0, "float32", [128], [1], 0]],
        "kwargs": [["B", 128]],
        "host": None,
    }
    size = 512
    header = {
        "path": __file__,
        "text": text,
        "target": 90 if compiles else None,
        "tuning": [True, None],
        "device": "cuda",
        "driver": compiles,
        "inspectable": True,
        "storages": [size] if compiles else [[size, 0, 0, [], False]],
        "launches": [launch],
        "inductor": None,
    }
    return header, memoryview(b"" if compiles else bytes(size))
