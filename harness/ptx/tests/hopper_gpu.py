"""Executes the launches of `golden/hopper/launches.jsonl.gz` on a GPU, and writes their results.

    python hopper_gpu.py launches.jsonl.gz results.jsonl.gz

It needs only CUDA's driver, which assembles the PTX and encodes the tensor maps. The first line of the input has the texts and
the pools of bytes; every other line is a launch, as `hopper.py` describes it. Every line of the output has the bytes of the
launch's buffers, or the error of the driver.
"""

import base64
import ctypes
import gzip
import json
import os
import sys

from gpu import CudaError, Driver

# From the numbers of element types in PTX to those of CUDA.
ELEMENT_TYPES = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 10, 9: 8, 10: 9, 11: 11, 12: 12}


def encode_map(driver: Driver, spec: dict, address: int) -> tuple[ctypes.Array, int]:
    """The 128 bytes of a tensor map, at a multiple of 64."""
    room = ctypes.create_string_buffer(256)
    at = (ctypes.addressof(room) + 63) // 64 * 64
    rank = len(spec["dims"])
    driver.call(
        "cuTensorMapEncodeTiled",
        ctypes.c_void_p(at),
        ELEMENT_TYPES[spec["type"]],
        rank,
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * rank)(*spec["dims"]),
        (ctypes.c_uint64 * rank)(*spec["strides"]),
        (ctypes.c_uint32 * rank)(*spec["box"]),
        (ctypes.c_uint32 * rank)(*spec["steps"]),
        0,
        spec["swizzle"],
        0,
        spec["fill"],
    )
    return room, at


def launch(driver: Driver, function: ctypes.c_void_p, one: dict, pools: dict[str, bytes]) -> list[bytes]:
    values: list[object] = []
    keep: list[object] = []
    outs: list[tuple[ctypes.c_uint64, int]] = []
    buffers: list[ctypes.c_uint64] = []
    addresses: list[object] = []
    for kind, *rest in one["arguments"]:
        if kind in ("in", "out"):
            pool, offset, size = rest
            at = driver.allocate(size + 256)
            buffers.append(at)
            # A pool repeats.
            content = pools[pool][offset:]
            driver.write(at, (content * (size // len(content) + 1))[:size])
            if kind == "out":
                outs.append((at, size))
            values.append(at)
            addresses.append(ctypes.byref(at))
        elif kind == "map":
            spec, buffer = rest
            room, at = encode_map(driver, spec, buffers[buffer].value)
            keep.append(room)
            addresses.append(ctypes.c_void_p(at))
        else:
            value = (ctypes.c_uint64 if kind == "u64" else ctypes.c_uint32)(rest[0] & (2**64 - 1))
            values.append(value)
            addresses.append(ctypes.byref(value))
    parameters = (ctypes.c_void_p * len(addresses))(
        *(ctypes.cast(address, ctypes.c_void_p) for address in addresses)
    )
    driver.call("cuLaunchKernel", function, one.get("blocks", 1), 1, 1, one["threads"], 1, 1, 0, None, parameters, None)
    driver.call("cuCtxSynchronize")
    results = [driver.read(at, size) for at, size in outs]
    for at in buffers:
        driver.call("cuMemFree_v2", at)
    return results


def main(launches: str, out: str, first: str = "0") -> None:
    driver = Driver()
    failed = 0
    count = 0
    with gzip.open(launches, "rt") as source, gzip.open(out, "ab") as file:
        head = json.loads(next(source))
        pools = {name: base64.b64decode(text) for name, text in head["pools"].items()}
        functions: dict[int, object] = {}
        if first == "0":
            start = {"gpu": driver.name, "driver": driver.version}
            file.write(json.dumps(start).encode() + b"\n")
        for line in source:
            if count < int(first):
                count += 1
                continue
            one = json.loads(line)
            said: dict[str, object] = {"name": one["name"]}
            count += 1
            try:
                number = one["text"]
                if number not in functions:
                    try:
                        functions[number] = driver.load(head["texts"][number])
                    except CudaError as error:
                        functions[number] = error
                if isinstance(functions[number], CudaError):
                    raise functions[number]
                results = launch(driver, functions[number][1], one, pools)
                said["results"] = [base64.b64encode(result).decode() for result in results]
            except CudaError as error:
                said["error"] = str(error)
                failed += 1
                print(f"{one['name']}: {error}"[:300], file=sys.stderr)
            file.write(json.dumps(said, separators=(",", ":")).encode() + b"\n")
            if str(said.get("error", "")).startswith("cuCtxSynchronize"):
                # The context is lost: a new process continues.
                file.close()
                os.execv(sys.executable, [sys.executable, __file__, launches, out, str(count)])
    print(f"{driver.name}: {count} launches, {failed} failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
