"""The worker's loop: read a request, do it, answer, as long as the other side is there."""

from __future__ import annotations

import faulthandler
import io
import os
import platform
import resource
import select
import signal
import struct
import sys
import threading
import time
from collections import namedtuple
from contextlib import ExitStack
from shutil import rmtree
from types import FunctionType
from typing import TYPE_CHECKING, Any, Callable

import numpy as np
import triton
import triton.language as tl

from . import STDOUT, TORCH, errors, fake_driver, inductor, program, tracked, warm, wire
from .apart import ForkedWorker
from .dtypes import DTYPES
from .memory import CUDA, Session, UntypedStorage
from .modules import Modules
from .recorder import Recorder, RecordingDriver, assemble_for, prepare
from .stages import ended_after, with_lines
from .tensor import tensor_of
from .tuning import count_configurations, tune

if TORCH:
    from . import real

    tensor_of = real.tensor_of  # type: ignore[assignment]

if TYPE_CHECKING:
    # For each storage, the addresses in it: byte, storage pointed into, byte of that.
    _Found = list[list[tuple[int, int, int]]]

# Bytes of stdout that are sent back, and that a request may write at all.
_STDOUT_KEPT = 64 * 1024
_STDOUT_MOST = 256 << 20


class _Stdout:
    """Keeps what is printed away from the pipe to the other side, which is stdout's place no longer."""

    def __init__(self) -> None:
        os.dup2(STDOUT, 1)
        os.close(STDOUT)
        self._open()

    def _open(self) -> None:
        self._stream = io.TextIOWrapper(
            io.BufferedWriter(io.FileIO(1, "w", closefd=False), 1 << 16), "utf-8", "backslashreplace"
        )
        self.reset()

    def reset(self) -> None:
        sys.stdout = self._stream
        sys.__stdout__ = self._stream  # type: ignore[misc]

    def take(self) -> tuple[str, bool]:
        """The text printed since the last call, and whether it is cut off."""
        try:
            self._stream.flush()
        except (OSError, ValueError):
            # More than a request may write, or closed: what could not be written is dropped with the buffer.
            self._open()
        self.reset()
        size = os.fstat(1).st_size
        if not size:
            return "", False
        text = os.pread(1, _STDOUT_KEPT, 0).decode("utf-8", "replace")
        os.ftruncate(1, 0)
        os.lseek(1, 0, os.SEEK_SET)
        return text, size > _STDOUT_KEPT


def _die_with_parent(pipe: int) -> None:
    """Ends this process, and what a kernel may have started, when the other side closes its end of the pipe,
    as the system does for it if it is killed."""

    def watch() -> None:
        poll = select.poll()
        poll.register(pipe, 0)
        while not poll.poll():
            pass
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(0)

    threading.Thread(target=watch, name="cerith-parent", daemon=True).start()


class Worker:
    """What lives from one request to the next."""

    def __init__(self, torch: inductor.Inductor | None, stdout: _Stdout) -> None:
        self.torch = torch
        self.stdout = stdout
        # Text printed before a run that the answer omits.
        self.printed: tuple[str, bool] | None = None
        self.modules = Modules()
        self.compiled_file: tuple[str, ...] = ()
        self.compiles = "TRITON_INTERPRET" not in os.environ
        # Python of each case file runs in a separate process. A process with torch, or with a GPU, cannot be
        # forked.
        self.is_apart = torch is None and not TORCH
        self.lost = False

    def warm_up(self) -> None:
        """Has Triton find out and keep what it does for whatever kernel it executes."""
        self.answer(*warm.request(self.compiles))
        self.stdout.take()
        if self.compiles:
            rmtree(os.environ["TRITON_CACHE_DIR"], ignore_errors=True)

    def begin(self) -> None:
        """Drops what a process before this one printed."""
        self.stdout.take()

    def serve(self, header: dict[str, Any], blobs: memoryview) -> tuple[dict[str, Any], list[bytes]]:
        """Performs a request; returns the header and the blobs of the answer."""
        # Prints where it hangs, and ends it even if its parent is gone.
        faulthandler.dump_traceback_later(header["time"], exit=True)
        answer, out = self.answer(header, blobs)
        faulthandler.cancel_dump_traceback_later()
        rest = self.stdout.take()
        answer["stdout"], answer["stdout_cut"] = self.printed or rest
        self.printed = None
        # Without its GPU it is of no more use.
        answer["worn"] = self.lost
        return answer, out

    def is_unchanged(self) -> bool:
        """Whether Python, NumPy, Triton's interpreter and this package are as they were. A compiler's process
        serves one file in any case."""
        return self.compiles or self.modules.is_world_unchanged()

    def answer(self, header: dict[str, Any], blobs: memoryview) -> tuple[dict[str, Any], list[bytes]]:
        """Performs a request; returns the header and the blobs of the answer."""
        began = time.perf_counter()
        session = real.Session(TORCH) if TORCH else Session()
        if header.get("inductor") is not None:
            answer, out = self._induct(header, blobs)
        elif header["target"] is not None:
            answer, out = self._compile(session, header)
        else:
            if self.compiles:
                self._forget_compiled(header["path"], header["text"])
            originals, ended = self._launched(session, header, blobs)
            found = _addresses(session, header)
            if ended is None and _are_new(found, header):
                found = self._proven(found, header, blobs)
            memory, out = _memory(session, found, originals)
            answer = {"raised": self._told(header, ended), "memory": memory}
        session.close()
        return {**answer, "seconds": time.perf_counter() - began}, out

    def _launched(
        self, session: Session, header: dict[str, Any], blobs: memoryview
    ) -> tuple[list[memoryview], tuple[str, int, BaseException] | None]:
        """Makes the launches; the bytes that the storages had before, and what ended it."""
        originals = _storages(session, header, blobs)
        fake = fake_driver.FakeDriver() if header["driver"] else None
        return originals, self._settled(session, self._run(session, header, fake, None))

    def _proven(self, found: _Found, header: dict[str, Any], blobs: memoryview) -> _Found:
        """The words that are addresses. They move when the launches are made again with the storages at
        another place, and a number does not. The output of this second run is dropped."""
        self.printed = self.stdout.take()
        session = real.Session(TORCH) if TORCH else Session(1)
        _, ended = self._launched(session, header, blobs)
        again = _addresses(session, header)
        session.close()
        self.stdout.take()
        if ended is not None:
            return found
        return [[word for word in one if word in other] for one, other in zip(found, again)]

    def _compile(self, session: Session, header: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        """Compiles what the launches need and records them."""
        for size in header["storages"]:
            session.storages.append(UntypedStorage(session, CUDA, size, 0, 0))
        recorder = Recorder(session)
        stage = header.get("stage")
        # Machine code is the same wherever its source lies, so it does not say. IR says where each operation
        # is from.
        lines = header.get("lines", False) or stage is not None
        ended_there = ended_after(stage, header.get("passes", False))
        with assemble_for(header.get("assembled")), ended_there, with_lines(lines):
            ended = self._run(session, header, RecordingDriver(recorder, header["target"]), recorder)
        answer = {
            "raised": self._told(header, ended),
            "kernels": recorder.kernels,
            "invocations": recorder.invocations,
            "configs": recorder.configs,
        }
        return answer, recorder.blobs

    def _induct(self, header: dict[str, Any], blobs: memoryview) -> tuple[dict[str, Any], list[bytes]]:
        """Makes the launches under `torch.compile`."""
        if self.torch is None:
            raise RuntimeError("this worker was started without torch")
        answer: dict[str, Any] = {"mode": None, "undefined": [], "modes": []}
        out: list[bytes] = []
        phase = "import"
        error: BaseException | None = None
        try:
            with ExitStack() as stack:
                launches = header["launches"]
                modules = {}
                for file in (header, *(spec["host"] for spec in launches if spec["host"])):
                    if file["path"] not in modules:
                        loaded = self.modules.load(file["path"], file["text"], driver=True, once=True)
                        modules[file["path"]] = stack.enter_context(loaded)
                phase = "launch"

                def read(make: inductor.Make) -> tuple[list[inductor.CaseLaunch], inductor.Read]:
                    values = _Values(make, modules[header["path"]])
                    return [values.launch(spec, modules) for spec in launches], values.read

                answer, out, error = self.torch.answer(header, blobs, read)
        except BaseException as raised:  # noqa: BLE001 (SystemExit is an outcome too)
            error = raised
        ended = None if error is None else (phase, 0, error)
        return {**answer, "raised": self._told(header, ended)}, out

    def _settled(
        self, session: Session, ended: tuple[str, int, BaseException] | None
    ) -> tuple[str, int, BaseException] | None:
        """Copies the memory back. A fault of the GPU is reported late, if at all, so it takes precedence over
        what Python raised after it."""
        try:
            session.settle()
        except errors.Fault as fault:
            self.lost = True
            _, launch, _ = ended or ("", 0, None)
            return "launch", launch, fault
        return ended

    def _forget_compiled(self, *file: str) -> None:
        """Empties Triton's cache, which no other process uses, between the kernels of one file and another.
        Some versions take kernels with the same text in two files for one kernel. Triton's compiled
        launchers belong to no kernel, and stay."""
        if file == self.compiled_file:
            return
        cache = os.environ["TRITON_CACHE_DIR"]
        for entry in os.scandir(cache) if os.path.isdir(cache) else ():
            if not (entry.is_dir() and any(name.endswith(".so") for name in os.listdir(entry))):
                rmtree(entry, ignore_errors=True)
        self.compiled_file = file

    def _told(
        self, header: dict[str, Any], ended: tuple[str, int, BaseException] | None
    ) -> dict[str, Any] | None:
        if ended is None:
            return None
        phase, launch, error = ended
        paths = [header["path"], *(spec["host"]["path"] for spec in header["launches"] if spec["host"])]
        folders = {os.path.join(os.path.dirname(path), "") for path in paths}
        failure = errors.describe(
            error, lambda file: any(self.modules.is_users(folder, file) for folder in folders)
        )
        failure.update(phase=phase, launch=launch)
        return failure

    def _run(
        self,
        session: Session,
        header: dict[str, Any],
        fake: fake_driver.FakeDriver | None,
        recorder: Recorder | None,
    ) -> tuple[str, int, BaseException] | None:
        """Imports and launches; the exception that ended it, with the phase and the launch it came in."""
        phase, launch = "import", 0
        try:
            with ExitStack() as stack:
                # A printing that failed leaves its format behind.
                stack.enter_context(np.printoptions())
                stack.enter_context(fake_driver.install_fake(fake))
                launches = header["launches"]
                # State of a host function (for example a hook) must not reach the next request. Compiled
                # kernels stay with their module, and a case is to be compiled as if it were alone.
                once = self.compiles or not launches or any(spec["host"] for spec in launches)
                faked = fake is not None
                # A compiler takes no kernel whose text it cannot see.
                inspectable = header["inspectable"] or self.compiles
                module = stack.enter_context(
                    self.modules.load(header["path"], header["text"], faked, once, inspectable)
                )
                hosts = {header["path"]: module}
                for launch, spec in enumerate(launches):
                    if recorder is not None:
                        recorder.launch = launch
                    phase = "arguments"
                    values = _Values(lambda spec: tensor_of(session, spec), module, session.pass_address)
                    kernel = values.lookup(spec["kernel"])
                    if recorder is not None:
                        recorder.configs = max(recorder.configs, count_configurations(kernel))
                        tune(kernel, *header["tuning"])
                    grid = spec["grid"]
                    grid = values.lookup(grid) if isinstance(grid, str) else tuple(grid)
                    args = [values.read(value) for value in spec["args"]]
                    kwargs = {name: values.read(value) for name, value in spec["kwargs"]}
                    host = spec["host"]
                    if host is None:
                        phase = "launch"
                        kernel[grid](*args, **kwargs)
                        continue
                    if host["path"] not in hosts:
                        phase = "import"
                        hosts[host["path"]] = stack.enter_context(
                            self.modules.load(host["path"], host["text"], faked, once)
                        )
                    phase = "launch"
                    getattr(hosts[host["path"]], host["function"])(kernel, grid, kwargs)
                if recorder is not None:
                    recorder.end()
        except BaseException as error:  # noqa: BLE001 (SystemExit is an outcome too)
            return phase, launch, error
        return None


class _Values:
    """Argument values in wire format: JSON's own, or a list of a letter and its contents."""

    def __init__(
        self, make: inductor.Make, module: object, address: Callable[[int, int], int] | None = None
    ) -> None:
        """`address` gives the address of a byte of a storage, where storages have one."""
        self.make = make
        self.module = module
        self.address = address

    def launch(self, spec: dict[str, Any], modules: dict[str, Any]) -> inductor.CaseLaunch:
        """A launch, its host function from one of `modules`."""
        grid, host = spec["grid"], spec["host"]
        return inductor.CaseLaunch(
            self.lookup(spec["kernel"]),
            self.lookup(grid) if isinstance(grid, str) else tuple(grid),
            host and getattr(modules[host["path"]], host["function"]),
            [self.read(value) for value in spec["args"]],
            {name: self.read(value) for name, value in spec["kwargs"]},
        )

    def lookup(self, path: str) -> Any:
        value: Any = self.module
        for name in path.split("."):
            if isinstance(value, FunctionType):
                return self.find_inner(path)
            value = getattr(value, name)
        return value

    def find_inner(self, path: str) -> Any:
        """A kernel defined in a function: the one that the module keeps after calling that function."""
        wanted = path.replace(".", ".<locals>.")
        for value in vars(self.module).values():
            inner = value
            while hasattr(inner, "fn"):
                inner = inner.fn
            if inner is not value and getattr(inner, "__qualname__", "") == wanted:
                return value
        raise LookupError(f"the module keeps no kernel {path}; assign what the function returns to a name")

    def read(self, value: object) -> object:
        if not isinstance(value, list):
            return value
        letter = value[0]
        if letter == "t":
            return self.tensor(value[1:])
        if letter == "i":
            return int(value[1])
        if letter == "f":
            return struct.unpack("<d", struct.pack("<Q", value[1]))[0]
        if letter == "d":
            return getattr(tl, value[1])
        if letter == "c":
            return tl.constexpr(self.read(value[1]))
        if letter == "u":
            return tuple(self.read(item) for item in value[1])
        if letter == "n":
            # A class of its own: Triton looks at the fields, and not at what the class is called.
            make: Any = namedtuple
            return make("Arguments", value[1])(*(self.read(item) for item in value[2]))
        if letter == "a" and self.address is not None:
            return self.address(value[1], value[2])
        if letter == "g":
            return self.lookup(value[1])
        if letter == "b":
            from triton.tools.tensor_descriptor import TensorDescriptor

            _, base, shape, strides, block_shape, (padding, round_f32_to_tf32) = value
            # An option that some versions lack is passed only if the request has it.
            options = {} if padding is None else {"padding": padding}
            if round_f32_to_tf32:
                options["round_f32_to_tf32"] = True
            return TensorDescriptor(self.tensor(base), shape, strides, block_shape, **options)
        raise ValueError(f"no such value: {value!r}")

    def tensor(self, spec: list[Any]) -> Any:
        if spec[1] in DTYPES:
            return self.make(spec)
        # If torch lacks a dtype, Triton gets bytes and the name of the type.
        storage, name, shape, strides, offset = spec
        base = self.make((storage, "uint8", shape, strides, offset))
        return triton.reinterpret(base, getattr(tl, name))


def _storages(session: Session, header: dict[str, Any], blobs: memoryview) -> list[memoryview]:
    """Makes the storages; the bytes they were asked to have."""
    start = 0
    originals = []
    for size, front, back, _, _ in header["storages"]:
        data = blobs[start : start + size]
        start += size
        originals.append(data)
        session.add(header["device"], np.frombuffer(data, dtype=np.uint8), front, back)
    for storage, (_, _, _, relocations, _) in zip(session.storages, header["storages"]):
        for at, target, addend in relocations:
            address = session.storages[target].address + addend
            storage.body()[at : at + 8] = np.frombuffer(
                struct.pack("<Q", address % (1 << 64)), dtype=np.uint8
            )
    session.begin()
    return originals


def _addresses(session: Session, header: dict[str, Any]) -> _Found:
    """The words that look like addresses, storage by storage."""
    return [
        session.find_relocations(storage) if holds else []
        for storage, (_, _, _, _, holds) in zip(session.storages, header["storages"])
    ]


def _are_new(found: _Found, header: dict[str, Any]) -> bool:
    """Whether some are not just the addresses that the storages held to begin with."""
    return any(
        word not in [tuple(given) for given in relocations]
        for words, (_, _, _, relocations, _) in zip(found, header["storages"])
        for word in words
    )


def _memory(
    session: Session, addresses: _Found, originals: list[memoryview]
) -> tuple[list[Any], list[bytes]]:
    """The storages after the run: the size sent (None: unchanged) and the addresses in each; and the
    bytes."""
    memory: list[Any] = []
    blobs: list[bytes] = []
    for storage, original, found in zip(session.storages, originals, addresses):
        session.blank_addresses(storage, found)
        data = storage.bytes.tobytes()
        if data == original:
            memory.append([None, found])
        else:
            memory.append([len(data), found])
            blobs.append(data)
    return memory, blobs


def main() -> None:
    """Serves the pipes that were stdin and stdout until the other side goes away."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    stdout = _Stdout()
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    most = _STDOUT_MOST if hard == resource.RLIM_INFINITY else min(_STDOUT_MOST, hard)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))

    def ask(header: dict[str, Any], blobs: list[bytes]) -> tuple[dict[str, Any], memoryview]:
        wire.write(answers, header, blobs)
        frame = wire.read(requests)
        if frame is None:
            sys.exit()
        return frame

    torch = None
    programs = program.Programs(requests, answers, stdout.take) if program.is_requested() else None
    if TORCH:
        real.start(TORCH)
    elif inductor.is_requested():
        torch = inductor.Inductor(ask)
    elif programs is None or programs.torch is None:
        fake_driver.show_triton_a_torch()
    if torch is None and programs is None and "TRITON_INTERPRET" not in os.environ:
        if not TORCH:
            prepare()
        # A folder of this process's own.
        os.environ["TRITON_CACHE_DIR"] = os.path.join(os.environ["TRITON_CACHE_DIR"], str(os.getpid()))
    _die_with_parent(requests.fileno())
    packages = tuple(os.path.dirname(os.path.abspath(str(one.__file__))) for one in (triton, np))
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    python = (sys.prefix, sys.base_prefix, os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix))
    libraries = (*python, *packages, own)
    tracked.ignore_bytecode(*libraries)
    worker = Worker(torch, stdout)
    hello = {
        "protocol": wire.PROTOCOL,
        "triton": triton.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    other = None
    if programs is not None:
        programs.prepare()
        wire.write(answers, hello, [])
        programs.serve()
        return
    if worker.is_apart:
        worker.warm_up()
        # The other side knows the packages and ours, and empties this process's folder.
        known = (*packages, own, os.environ["HOME"])
        other = ForkedWorker((requests, answers), worker, (known, libraries) if worker.compiles else None)
    wire.write(answers, hello, [])
    while True:
        frame = wire.receive(requests)
        if frame is None:
            return
        if other is None:
            wire.write(answers, *worker.serve(*frame.parse()))
        else:
            other.pass_on(frame)
