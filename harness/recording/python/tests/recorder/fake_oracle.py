#!/usr/bin/env python3
"""A `cerith oracle` for tests of the other side: it computes by the names of kernels, and compares with four
units in the last place of float32. It uses the standard library alone, so that it starts fast.

Tests with the real program are in `test_oracle.py`.
"""

from __future__ import annotations

import itertools
import json
import math
import struct
import sys
import zlib
from pathlib import Path
from typing import Any, Iterable

_HEAD = struct.Struct("<IQ")
_CODES = {"float32": "<f", "int32": "<i", "int64": "<q", "float16": "<e"}


class Elements:
    """The elements of a tensor in its storage, in order."""

    def __init__(
        self, content: bytearray, dtype: str, shape: list[int], strides: list[int], offset: int
    ) -> None:
        self.content = content
        self.code = struct.Struct(_CODES[dtype])
        self.offsets = [
            (offset + sum(at * stride for at, stride in zip(index, strides))) * self.code.size
            for index in itertools.product(*map(range, shape))
        ]

    def read(self) -> list[float]:
        return [self.code.unpack_from(self.content, at)[0] for at in self.offsets]

    def write(self, values: Iterable[float]) -> None:
        for at, value in zip(self.offsets, values):
            self.code.pack_into(self.content, at, value)


class Part:
    """The frames of a part file as far as it goes."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.kernels: dict[int, str] = {}
        self.bytes: dict[str, bytes] = {}
        self.launches: list[dict[str, Any]] = []
        self.after: dict[tuple[int, int], bytes] = {}

    def read(self) -> None:
        data = self.path.read_bytes()
        self.launches.clear()
        at = 0
        while at < len(data):
            header_size, payload_size = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            header = json.loads(data[at : at + header_size])
            payload = data[at + header_size : at + header_size + payload_size]
            at += header_size + payload_size
            if header["frame"] == "kernel":
                self.kernels[header["kernel"]] = header["function"]
            elif header["frame"] == "bytes":
                self.bytes[header["hash"]] = zlib.decompress(payload)
            elif header["frame"] == "launch":
                self.launches.append(header)


def compute(name: str, args: dict[str, Any], contents: list[bytearray]) -> dict[str, Any] | None:
    """Executes a kernel; an answer if it does not finish."""

    def elements(parameter: str) -> Elements:
        _, storage, *layout = args[parameter]
        return Elements(contents[storage], *layout)

    if name in ("double", "wrong_double", "tuned"):
        values = elements("x_ptr").read()
        factor = int(args["BLOCK"][1]) if name == "tuned" else 2
        half = len(values) // 2 if name == "wrong_double" else len(values)
        elements("out_ptr").write(value * (factor if at < half else 2.125) for at, value in enumerate(values))
    elif name == "past":
        text = (
            f"{name} is undefined: out-of-bounds: load of 4 bytes\n  at {name}.py:3:5\n    3 | x = tl.load(…)"
        )
        return {"outcome": "undefined", "text": text, "code": "out-of-bounds", "file": "k.py", "line": 3}
    elif name != "idle":
        return {"outcome": "unsupported", "text": f"{name}: no such kernel"}
    return None


def launch(part: Part) -> None:
    part.read()
    frame = part.launches[-1]
    empty = [one["before"] is None for one in frame["storages"]]
    assert all(one["why"] == "uninitialised" for one in frame["storages"] if one["before"] is None)
    contents = [
        bytearray(one["size"] if one["before"] is None else part.bytes[one["before"]])
        for one in frame["storages"]
    ]
    before = [bytes(one) for one in contents]
    name = part.kernels[frame["kernel"]]
    answer = compute(name, dict(frame["args"]), contents)
    if answer is not None:
        say(answer)
        return
    changed = []
    for index, content in enumerate(contents):
        written = (empty[index] and name != "idle") or bytes(content) != before[index]
        if written:
            changed.append(index)
        if written or not empty[index]:
            part.after[frame["launch"], index] = bytes(content)
    listed = [{"storage": index, "bytes": len(contents[index])} for index in changed]
    say({"outcome": "finished", "changed": listed, "warnings": []})
    for index in changed:
        sys.stdout.buffer.write(contents[index])
    sys.stdout.buffer.flush()


def bound_of(expected: float) -> float:
    """Four units in the last place of float32."""
    return 4 * 2.0 ** (max(math.frexp(expected)[1] - 1, -126) - 23)


def compare(part: Part, request: dict[str, Any]) -> None:
    found = []
    for one in request["outputs"]:
        left = part.after.get((one["launch"], one["storage"]))
        elements = math.prod(one["shape"])
        if left is None:
            unwritten = {"elements": elements, "unwritten": elements}
            found.append({"name": one["name"], "verdict": "wrong", **unwritten})
            continue
        content = bytearray(left)
        kernel = Elements(content, one["dtype"], one["shape"], one["strides"], one["offset"]).read()
        file = Path(one["expected"])
        code = "d" if file.suffix == ".f64" else "q"
        expected = struct.unpack(f"<{len(kernel)}{code}", file.read_bytes())
        wrong = [
            at
            for at, (value, right) in enumerate(zip(kernel, expected))
            if not (value == right or (math.isnan(value) and math.isnan(right)))
            and not abs(value - right) <= bound_of(right)
        ]
        about = {
            "name": one["name"],
            "verdict": "wrong" if wrong else "agree",
            "elements": len(kernel),
            "wrong": len(wrong),
            "inaccurate": 0,
            "undecided": 0,
            "worst_ulps": None,
            "allowed_ulps": 4.0,
        }
        if wrong:
            index = list(itertools.product(*map(range, one["shape"])))[wrong[0]]
            value, right = kernel[wrong[0]], expected[wrong[0]]
            bounds = {"low": right - bound_of(right), "high": right + bound_of(right)}
            about["example"] = {"index": list(index), "kernel": value, "expected": right, **bounds}
        found.append(about)
    verdict = "wrong" if any(one["verdict"] == "wrong" for one in found) else "agree"
    operation = {"name": "mul", "file": "k.py", "line": 14} if verdict == "wrong" else None
    say({"verdict": verdict, "outputs": found, "operation": operation, "text": ""})


def say(answer: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    sys.stdout.buffer.flush()


def main() -> None:
    command, path = sys.argv[1:]
    assert command == "oracle"
    part = Part(path)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if request["request"] == "arguments":
            assert all(Path(file).stat().st_size % 8 == 0 for file in request["values"])
            say({})
        elif request["request"] == "launch":
            launch(part)
        else:
            compare(part, request)


if __name__ == "__main__":
    main()
