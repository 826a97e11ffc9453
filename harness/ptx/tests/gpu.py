"""Executes every instruction of `golden/instructions.jsonl` on a GPU, and writes `golden/gpu.jsonl.gz`.

    python gpu.py golden/instructions.jsonl golden/kernel.ptx gpu.jsonl.gz

It needs only CUDA's driver, which assembles the PTX. The first line of the output has the GPU and the
driver. Every other line is an instruction: its operands' names, and for each rotation four results of each thread, or the
driver's error. A rotation shifts the second and the third operand, for different combinations.
"""

import ctypes
import gzip
import json
import sys
from pathlib import Path

THREADS = 64
# How far the second operand is moved, and the third.
ROTATIONS = ((0, 0), (9, 23), (30, 17))


class CudaError(Exception):
    """A call of the driver that failed."""


class Driver:
    """The few calls of CUDA's driver that a launch needs."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        name = ctypes.create_string_buffer(128)
        self.call("cuDeviceGetName", name, 128, device)
        self.name = name.value.decode()
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        self.version = version.value
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: object) -> None:
        code: int = getattr(self.cuda, name)(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorName(code, ctypes.byref(text))
            raise CudaError(f"{name}: {text.value.decode() if text.value else code}")

    def allocate(self, size: int) -> ctypes.c_uint64:
        at = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(size))
        return at

    def write(self, at: ctypes.c_uint64, content: bytes) -> None:
        self.call("cuMemcpyHtoD_v2", at, content, ctypes.c_size_t(len(content)))

    def read(self, at: ctypes.c_uint64, size: int) -> bytes:
        content = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", content, at, ctypes.c_size_t(size))
        return content.raw

    def load(self, ptx: str) -> tuple[ctypes.c_void_p, ctypes.c_void_p]:
        module = ctypes.c_void_p()
        log = ctypes.create_string_buffer(4096)
        # The buffer for the assembler's errors (5), and its size in bytes (6).
        names = (ctypes.c_int * 2)(5, 6)
        values = (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p), len(log))
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), ptx.encode() + b"\0", 2, names, values)
        except CudaError as error:
            raise CudaError(f"{error}: {log.value.decode().strip()}") from error
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"one")
        return module, function

    def launch(self, function: ctypes.c_void_p, pointers: list[ctypes.c_uint64]) -> None:
        parameters = (ctypes.c_void_p * len(pointers))(
            *(ctypes.cast(ctypes.byref(pointer), ctypes.c_void_p) for pointer in pointers)
        )
        self.call("cuLaunchKernel", function, 1, 1, 1, THREADS, 1, 1, 0, None, parameters, None)
        self.call("cuCtxSynchronize")


def pack_operands(values: list[int]) -> bytes:
    """Packs the operands of all threads, with padding that a wide load may read."""
    return b"".join(value.to_bytes(8, "little") for value in values) + bytes(64)


def unpack_results(content: bytes) -> list[list[str]]:
    """Four results of each thread, result by result."""
    words = [int.from_bytes(content[at : at + 8], "little") for at in range(0, len(content), 8)]
    return [[f"{word:x}" for word in words[nth::4]] for nth in range(4)]


def main(instructions: str, kernel: str, out: str) -> None:
    head, *lines = Path(instructions).read_text().splitlines()
    frame = Path(kernel).read_text()
    sets = {
        name: [int(value, 16) for value in values] for name, values in json.loads(head)["operands"].items()
    }
    driver = Driver()
    pointers = [driver.allocate(THREADS * 8 + 64) for _ in "abc"]
    result = driver.allocate(THREADS * 32)
    failed = 0
    with gzip.GzipFile(out, "wb", mtime=0) as file:
        start = {"gpu": driver.name, "driver": driver.version, "rotations": ROTATIONS}
        file.write(json.dumps(start).encode() + b"\n")
        for line in lines:
            one = json.loads(line)
            said: dict[str, object] = {"opcode": one["opcode"], "operands": one["operands"]}
            try:
                module, function = driver.load(frame.replace("// BODY", one["body"]))
                rotations = []
                for by in ROTATIONS:
                    for pointer, name, turn in zip(pointers, one["operands"], (0, *by), strict=True):
                        driver.write(pointer, pack_operands(sets[name][turn:] + sets[name][:turn]))
                    driver.write(result, bytes(THREADS * 32))
                    driver.launch(function, [*pointers, result])
                    rotations.append(unpack_results(driver.read(result, THREADS * 32)))
                driver.call("cuModuleUnload", module)
                said["results"] = rotations
            except CudaError as error:
                said["error"] = str(error)
                failed += 1
                print(f"{one['opcode']}: {error}", file=sys.stderr)
            file.write(json.dumps(said, separators=(",", ":")).encode() + b"\n")
    print(f"{driver.name}: {len(lines)} instructions, {failed} failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
