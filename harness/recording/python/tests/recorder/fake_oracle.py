#!/usr/bin/env python3
"""A `cerith oracle` for tests of the other side: it computes with NumPy by the names of kernels, and compares
with four units in the last place of float32.

Tests with the real program are in `test_check.py`.
"""

from __future__ import annotations

import json
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np

_HEAD = struct.Struct("<IQ")
_DTYPES = {"float32": np.float32, "int32": np.int32, "int64": np.int64, "float16": np.float16}


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

    def elements(parameter: str) -> np.ndarray[Any, Any]:
        _, storage, dtype, shape, strides, offset = args[parameter]
        size = np.dtype(_DTYPES[dtype]).itemsize
        return np.ndarray(
            tuple(shape),
            _DTYPES[dtype],
            contents[storage],
            offset * size,
            tuple(one * size for one in strides),
        )

    if name == "double":
        elements("out_ptr")[...] = elements("x_ptr") * 2
    elif name == "wrong_double":
        out = elements("out_ptr")
        out[...] = elements("x_ptr") * 2
        out.reshape(-1)[out.size // 2 :] += elements("x_ptr").reshape(-1)[out.size // 2 :] / 8
    elif name == "tuned":
        elements("out_ptr")[...] = elements("x_ptr") * int(args["BLOCK"][1])
    elif name == "idle":
        pass
    elif name == "past":
        text = (
            f"{name} is undefined: out-of-bounds: load of 4 bytes\n  at {name}.py:3:5\n    3 | x = tl.load(…)"
        )
        return {"outcome": "undefined", "text": text, "code": "out-of-bounds", "file": "k.py", "line": 3}
    else:
        return {"outcome": "unsupported", "text": f"{name}: no such kernel"}
    return None


def launch(part: Part) -> None:
    part.read()
    frame = part.launches[-1]
    contents = [bytearray(part.bytes[one["before"]]) for one in frame["storages"]]
    name = part.kernels[frame["kernel"]]
    answer = compute(name, dict(frame["args"]), contents)
    if answer is not None:
        say(answer)
        return
    changed = []
    for index, (one, content) in enumerate(zip(frame["storages"], contents)):
        part.after[frame["launch"], index] = bytes(content)
        if bytes(content) != part.bytes[one["before"]]:
            changed.append(index)
    listed = [{"storage": index, "bytes": len(contents[index])} for index in changed]
    say({"outcome": "finished", "changed": listed, "warnings": []})
    for index in changed:
        sys.stdout.buffer.write(contents[index])
    sys.stdout.buffer.flush()


def compare(part: Part, request: dict[str, Any]) -> None:
    found = []
    for one in request["outputs"]:
        dtype = np.dtype(_DTYPES[one["dtype"]])
        content = part.after[one["launch"], one["storage"]]
        strides = tuple(stride * dtype.itemsize for stride in one["strides"])
        kernel = np.ndarray(tuple(one["shape"]), dtype, content, one["offset"] * dtype.itemsize, strides)
        file = one["expected"]
        expected = np.fromfile(file, np.float64 if file.endswith("f64") else np.int64).reshape(one["shape"])
        with np.errstate(all="ignore"):
            bound = 4 * np.spacing(np.abs(expected).astype(np.float32))
            close = np.abs(kernel - expected) <= bound
        wrong = ~(close | (kernel == expected) | (np.isnan(kernel) & np.isnan(expected)))
        about = {
            "name": one["name"],
            "verdict": "wrong" if wrong.any() else "agree",
            "elements": int(expected.size),
            "wrong": int(wrong.sum()),
            "inaccurate": 0,
            "undecided": 0,
            "worst_ulps": None,
            "allowed_ulps": 4.0,
        }
        if wrong.any():
            index = tuple(int(at) for at in np.argwhere(wrong)[0])
            about["example"] = {
                "index": list(index),
                "kernel": float(kernel[index]),
                "expected": float(expected[index]),
                "low": float(expected[index] - bound[index]),
                "high": float(expected[index] + bound[index]),
            }
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
        if request["request"] == "launch":
            launch(part)
        else:
            compare(part, request)


if __name__ == "__main__":
    main()
