"""A kernel that is compiled before any other, and the request for it: every process that is forked later has
what Triton finds out and keeps then."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl


@triton.jit  # type: ignore[untyped-decorator]
def kernel(x: Any, B: tl.constexpr) -> None:  # noqa: N803 (as kernels have it)
    """Asks a little of the compiler."""
    lanes = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + lanes, mask=lanes < 100, other=0.0)
    total = tl.sum(tl.exp(value) + tl.maximum(value, 1.0), axis=0)
    tl.store(x + lanes, value / (tl.max(value, axis=0) + total), mask=lanes < 100)


def request() -> dict[str, Any]:
    """A request to compile it."""
    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    launch = {
        "kernel": "kernel",
        "grid": [1],
        "args": [["t", 0, "float32", [128], [1], 0]],
        "kwargs": [["B", 128]],
        "host": None,
    }
    return {
        "path": __file__,
        "text": text,
        "target": 90,
        "tuning": [True, None],
        "device": "cuda",
        "driver": True,
        "inspectable": True,
        "storages": [512],
        "launches": [launch],
        "inductor": None,
    }
