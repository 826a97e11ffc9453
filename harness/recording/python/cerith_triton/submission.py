"""The program `submission`: runs a submission of `cerith judge`. It gets inputs as bytes, and asks for its
launches.

`serve` forks a process for each run. The other side is
`harness/runner/src/submission`, which trusts nothing of it. See `suspicions` for signs of attacks.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib.util
import itertools
import math
import os
import signal
import sys
import tempfile
import time
import traceback
import zlib
from pathlib import Path
from typing import Any, Iterator, Mapping, NoReturn, Sequence

import numpy as np

from . import arguments, hooks
from .connection import Channel
from .decisions import Decisions
from .devices import watch_torch
from .failures import kind_of, message_of
from .formats import Array
from .oracle import Oracle
from .standin import layout
from .standin.dtypes import DTYPES
from .standin.host import StandIn, make_storage, watch_empty
from .structure import list_leaves
from .suspicions import Watch

_MODULE = "submission"
_MAX_MESSAGE = 500
_MAX_OUTPUT = 1 << 26
# Seconds between two looks at a process, at first and later.
_SHORTEST, _LONGEST = 0.001, 0.02


class StateMismatchError(ValueError):
    """The parameters of a module are not those of the task's model."""


def serve(channel: Channel, path: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Runs a submission's file as often as the judge says, each time in a process of its own."""
    hooks.prepare()
    gc.freeze()
    while True:
        answer, _ = channel.ask({"question": "next"})
        run = answer.get("run")
        if run is None:
            return {}
        status, late = _run_apart(channel, path, run)
        channel.ask({"question": "ended", "status": status, "late": late})
        if late:
            # Its question may still have an answer on the way.
            return {}


def _run_apart(channel: Channel, path: str, run: Mapping[str, Any]) -> tuple[int, bool]:
    """The status of the process that makes a run, and whether it took too long."""
    ended = time.monotonic() + float(run["seconds"])
    pid = os.fork()
    if pid == 0:
        _run_and_exit(channel, path, run)
    pause = _SHORTEST
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status, False
        if time.monotonic() > ended:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return signal.SIGKILL, True
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST)


def _run_and_exit(channel: Channel, path: str, run: Mapping[str, Any]) -> NoReturn:
    status = 1
    # `os._exit` runs no function that the submission registered.
    leave = os._exit
    try:
        _Run(channel, path, run).serve()
        status = 0
    finally:
        leave(status)


class _Run:
    """The calls of one process."""

    def __init__(self, channel: Channel, path: str, run: Mapping[str, Any]) -> None:
        self._channel = channel
        self._path = path
        self._entry = str(run["entry"])
        self._is_model = run["form"] == "kernelbench"
        self._decisions = Decisions(path, self._is_written)
        self._watch = Watch(path, self._decisions.note)
        # The submission may replace methods of classes.
        self._list_suspicions = self._watch.list_suspicions
        self._oracle = Oracle(Path(tempfile.mkdtemp()))
        self._first_launch = 0
        self._models: dict[str, Any] = {}
        # Storages of inputs by file and size. A later call finds other data at the same addresses.
        self._storages: dict[tuple[str, int], Any] = {}

    def serve(self) -> None:
        """Imports the file, and makes calls until there are no more."""
        self._watch.start()
        try:
            with self._launching():
                module = self._load()
                entry = getattr(module, self._entry, None)
                if entry is None:
                    raise AttributeError(f"the file defines no `{self._entry}`")
        except BaseException as error:  # noqa: BLE001 (SystemExit too)
            self._report(error)
            return
        while True:
            answer, blobs = self._channel.ask({"question": "call"})
            call = answer.get("call")
            if call is None:
                return
            try:
                self._first_launch = self._oracle.launches
                inputs = _Inputs(answer["files"], blobs, self._storages)
                result = self._call(entry, call, inputs)
                fields, bits = self._describe(result, inputs)
            except BaseException as error:  # noqa: BLE001
                self._report(error)
                return
            fields["suspicions"] = self._list_suspicions()
            self._channel.ask(
                {"question": "result", "result": fields, "sizes": [len(one) for one in bits]}, bits
            )

    @contextlib.contextmanager
    def _launching(self) -> Iterator[None]:
        """A context in which launches are executed by the judge."""
        oracle, torch = self._oracle, arguments.torch_of()
        grad = contextlib.nullcontext() if torch is None else torch.no_grad()
        with oracle, watch_torch(oracle.note_empty, self._decisions), watch_empty(oracle.note_empty), grad:
            yield

    def _is_written(self, tensor: Any) -> bool:
        try:
            writer = self._oracle.writer_of(tensor)
        except (RuntimeError, NotImplementedError):
            return False
        return writer is not None and writer.changed

    def _load(self) -> Any:
        spec = importlib.util.spec_from_file_location(_MODULE, self._path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[_MODULE] = module
        spec.loader.exec_module(module)
        return module

    def _call(self, entry: Any, call: Mapping[str, Any], inputs: _Inputs) -> Any:
        args = inputs.build_all(call["args"])
        kwargs = {name: inputs.build(one) for name, one in call["kwargs"].items()}
        init = inputs.build_all(call["init"])
        state = {one["name"]: inputs.build_tensor(one["tensor"], one["name"]) for one in call["state"]}
        self._oracle.configuration = _choose_configuration(call)
        self._decisions.note_inputs(inputs.list_addresses())
        inputs.keep_layouts([args, kwargs])
        with self._launching():
            if self._is_model:
                # A model that was made with the same arguments is used again.
                key = repr(call["init"])
                if key not in self._models:
                    self._models[key] = entry(*init)
                entry = self._models[key]
                inputs.parameters = _set_state(entry, state)
            result = entry(*args, **kwargs)
        self._decisions.check_shared(self._oracle.list_written())
        return result

    def _report(self, error: BaseException) -> None:
        """Reports an exception that ended a call."""
        line = None
        for frame in traceback.extract_tb(error.__traceback__):
            if frame.filename == self._path:
                line = frame.lineno
        self._channel.ask(
            {
                "question": "raised",
                "type": kind_of(error),
                "text": message_of(error)[:_MAX_MESSAGE],
                "line": line,
                "unfit": isinstance(error, StateMismatchError),
                "suspicions": self._list_suspicions(),
            }
        )

    # Results.

    def _describe(self, result: Any, inputs: _Inputs) -> tuple[dict[str, Any], list[bytes]]:
        """The result of a call: views of storages of launches, and the bits of tensors without a launch."""
        found = list_leaves(result)
        self._watch.inspect_result(found.values)
        if self._decisions.found is not None:
            self._watch.note_decision(*self._decisions.found)
        described: list[dict[str, Any]] = []
        bits: list[bytes] = []
        for name, value in zip(found.names, found.values):
            one = self._describe_output(name, value, inputs)
            plain = arguments.find_obstacle(value) is None and self._decisions.found is None
            if "host" in one and "dtype" in one and plain:
                # A size of 0 strides needs no memory, but its copy does.
                if math.prod(one["shape"]) * value.dtype.itemsize <= _MAX_OUTPUT:
                    one["bits"] = len(bits)
                    bits.append(arguments.read_bits(value).tobytes())
            described.append(one)
        fields = {
            "outputs": described,
            "structure": found.structure,
            "changed_inputs": inputs.list_changed(),
        }
        return fields, bits

    def _describe_output(self, name: str, value: Any, inputs: _Inputs) -> dict[str, Any]:
        if not arguments.is_tensor(value) or arguments.dtype_of(value) not in DTYPES:
            return {"name": name, "host": f"it is a {type(value).__qualname__}, not a tensor of numbers"}
        about: dict[str, Any] = {"name": name, "dtype": arguments.dtype_of(value)}
        obstacle = arguments.find_obstacle(value)
        with contextlib.suppress(RuntimeError) if obstacle else contextlib.nullcontext():
            # A nested tensor has no shape.
            about["shape"] = [int(size) for size in value.shape]
        if obstacle is None and self._decisions.found is not None:
            # Its results are those of a launch for the data of the trials, and may be others.
            obstacle = f"the host reads values of the data by `{self._decisions.found[0]}`"
        if obstacle is not None:
            return {**about, "host": obstacle}
        writer = self._oracle.writer_of(value)
        argument = inputs.find(value)
        # The memory of arguments is used in every call.
        if argument is not None and (writer is None or writer.launch < self._first_launch):
            return {**about, "host": f"it is its argument `{argument}`", "argument": True}
        if writer is None:
            return {**about, "host": "no launch wrote it"}
        if writer.content is not None and self._oracle.read_storage(value) != writer.content:
            return {**about, "host": f"its memory was changed after the launch of `{writer.kernel}`"}
        holder = arguments.ArrayTensor(value) if isinstance(value, np.ndarray) else value
        about["launch"], about["storage"] = writer.launch, writer.storage
        about["strides"] = [int(stride) for stride in holder.stride()]
        about["offset"] = int(holder.storage_offset())
        return about


class _Inputs:
    """Tensors and numbers of a call, made of the judge's bytes."""

    def __init__(
        self, files: Sequence[Mapping[str, Any]], blobs: memoryview, known: dict[tuple[str, int], Any]
    ) -> None:
        """`files` has the name and the size of each storage, whose bytes follow each other in `blobs`.
        `known` are storages that are used again."""
        self._known = known
        self._contents: dict[str, bytes] = {}
        start = 0
        for file in files:
            size = int(file["bytes"])
            self._contents[str(file["name"])] = bytes(blobs[start : start + size])
            start += size
        self._storages: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        self.parameters: list[tuple[str, Any, Array]] = []
        """Parameters of the model: name, tensor, and bits as they were given."""
        self._arguments: list[Any] = []
        self._layouts: list[tuple[Any, str]] = []

    def keep_layouts(self, values: list[Any]) -> None:
        """Keeps the lists and tensors among arguments as they are now, to find changes."""
        self._arguments = values
        self._layouts = _list_layouts(values)

    def list_addresses(self) -> list[int]:
        """The addresses of the storages."""
        return [int(storage.data_ptr()) for storage in self._storages.values()]

    def build_all(self, values: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Values in order."""
        return [self.build(one, f"argument {at}") for at, one in enumerate(values)]

    def build(self, value: Mapping[str, Any], name: str = "an argument") -> Any:
        """One value."""
        ((kind, given),) = value.items()
        if kind == "tensor":
            return self.build_tensor(given, str(value["tensor"].get("name") or name))
        if kind == "none":
            return None
        if kind in ("list", "tuple"):
            made = self.build_all(given)
            return made if kind == "list" else tuple(made)
        if kind == "dict":
            return {key: self.build(one, key) for key, one in given.items()}
        if kind == "dtype":
            torch = arguments.torch_of()
            return DTYPES[given] if torch is None else getattr(torch, given)
        if kind == "number":
            return float(given)
        return given

    def build_tensor(self, given: Mapping[str, Any], name: str) -> Any:
        """A tensor of torch's, or a stand-in without torch. Those of one file share its storage."""
        file, dtype = str(given["file"]), str(given["dtype"])
        self._names.setdefault(file, name)
        torch = arguments.torch_of()
        storage = self._storages.get(file)
        if storage is None:
            storage = self._storages[file] = self._fill_storage(file)
        shape, strides, offset = tuple(given["shape"]), tuple(given["strides"]), int(given["offset"])
        if torch is None:
            return StandIn(storage, DTYPES[dtype], shape, strides, offset)
        made = torch.empty(0, dtype=getattr(torch, dtype))
        return made.set_(storage, offset, shape, strides)

    def _fill_storage(self, file: str) -> Any:
        """A storage with the bytes of a file."""
        content = self._contents[file]
        storage = self._known.get((file, len(content)))
        torch = arguments.torch_of()
        if storage is None:
            if torch is None:
                storage = make_storage(np.zeros(len(content), np.uint8))
            else:
                storage = torch.empty(len(content), dtype=torch.uint8).untyped_storage()
            self._known[(file, len(content))] = storage
        if torch is None:
            storage.body()[...] = np.frombuffer(content, np.uint8)
        elif content:
            ctypes.memmove(storage.data_ptr(), content, len(content))
        return storage

    def find(self, tensor: Any) -> str | None:
        """The name of the argument that a tensor shares memory with."""
        holder = arguments.ArrayTensor(tensor) if isinstance(tensor, np.ndarray) else tensor
        address = int(holder.untyped_storage().data_ptr())
        for file, storage in self._storages.items():
            if address and int(storage.data_ptr()) == address:
                return self._names[file]
        for name, parameter, _ in self.parameters:
            if address and int(parameter.untyped_storage().data_ptr()) == address:
                return name
        return None

    def list_changed(self) -> list[str]:
        """The arguments and parameters whose bytes have changed."""
        changed = []
        for file, storage in self._storages.items():
            tensor = _view_bytes(storage)
            if arguments.read_bits(tensor).tobytes() != self._contents[file]:
                changed.append(self._names[file])
        for name, parameter, bits in self.parameters:
            now = arguments.read_bits(parameter)
            if now.shape != bits.shape or (now != bits).any():
                changed.append(name)
        now_there = _list_layouts(self._arguments)
        for before, after in itertools.zip_longest(self._layouts, now_there, fillvalue=(None, "")):
            if before[0] is not after[0] or before[1] != after[1]:
                changed.append(self._find_name(before[0]))
                break
        return changed

    def _find_name(self, tensor: Any) -> str:
        name = self.find(tensor) if arguments.is_tensor(tensor) else None
        return name or "an argument"


def _choose_configuration(call: Mapping[str, Any]) -> int:
    """A number of the call's sizes. Calls that differ only in their data must make the same launches, so that
    autotuners take other configurations for other sizes only."""
    sizes: list[int] = []

    def visit(value: Any) -> None:
        if isinstance(value, Mapping):
            if "shape" in value:
                sizes.extend(int(size) for size in value["shape"])
            else:
                visit(list(value.values()))
        elif isinstance(value, (list, tuple)):
            for one in value:
                visit(one)

    visit([call["args"], call["kwargs"]])
    return zlib.crc32(repr(sizes).encode())


def _list_layouts(value: Any) -> list[tuple[Any, str]]:
    """The lists and tensors in a value with their layouts: a submission may give a tensor other memory."""
    if isinstance(value, (list, tuple, dict)):
        items = list(value.values()) if isinstance(value, dict) else list(value)
        found: list[tuple[Any, str]] = [(value, f"{type(value).__name__} of {len(items)}")]
        return found + [layout for one in items for layout in _list_layouts(one)]
    if not arguments.is_tensor(value):
        return []
    try:
        where = (int(value.untyped_storage().data_ptr()), int(value.storage_offset()))
    except (RuntimeError, NotImplementedError):
        return [(value, "no memory")]
    return [(value, f"{where} {value.dtype} {tuple(value.shape)} {tuple(value.stride())}")]


def _view_bytes(storage: Any) -> Any:
    """A storage as a tensor of bytes."""
    size = int(storage.nbytes())
    torch = arguments.torch_of()
    if torch is None:
        return StandIn(storage, DTYPES["uint8"], (size,), layout.contiguous_strides((size,)), 0)
    return torch.empty(0, dtype=torch.uint8).set_(storage, 0, (size,), (1,))


def _set_state(model: Any, state: Mapping[str, Any]) -> list[tuple[str, Any, Array]]:
    """Sets the parameters and buffers of a model to those of the task's: by name, or else by shape.

    Returns the parameters: name, tensor, and bits. Raises `StateMismatchError` if one has no counterpart.
    """
    parameters = dict(model.named_parameters())
    own = {**parameters, **dict(model.named_buffers())}
    if not state and not parameters:
        return []
    pairs = []
    left = {name: tensor for name, tensor in own.items() if name not in state}
    for name, value in state.items():
        target = own.get(name)
        if target is None or tuple(target.shape) != tuple(value.shape):
            fitting = (key for key, one in left.items() if tuple(one.shape) == tuple(value.shape))
            key = next(fitting, None)
            if key is None:
                raise StateMismatchError(
                    f"the model has no parameter for `{name}` of shape {list(value.shape)}"
                )
            target = left.pop(key)
        pairs.append((target, value))
    missing = [name for name in left if name in parameters]
    if missing:
        raise StateMismatchError(f"the task's model has no parameter for `{missing[0]}`")
    for target, value in pairs:
        target.data.copy_(value)
    return [(name, one, arguments.read_bits(one)) for name, one in parameters.items()]
