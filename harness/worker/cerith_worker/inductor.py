"""Kernels launched inside of a function under `torch.compile`, with torch's TorchInductor and no GPU.

CPU tensors stand in for CUDA tensors, and torch gets the answers of a machine with an H100. It captures
the case's launches, writes its modules and loads them as it would there. The launches that its wrapper makes
are sent to the other side, which sends the new contents of memory back. Tried with torch 2.5.1 to 2.15.0.
"""

from __future__ import annotations

import ctypes
import gc
import json
import linecache
import math
import os
import struct
import sys
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence

import triton.language as tl

from . import errors
from .emitted import find_undefined, parameter_of, to_plain_triton
from .fake_driver import FakeDriver

# torch reads these when it is imported. Without them it would reuse a module of an older run, and its other
# processes would not see the GPU that this one pretends to have.
_ENVIRONMENT = {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"}

# An H100's, where Inductor asks.
_H100 = {
    "type": "cuda",
    "index": 0,
    "cc": 90,
    "major": 9,
    "multi_processor_count": 132,
    "regs_per_multiprocessor": 65536,
    "max_threads_per_multi_processor": 2048,
    "max_threads_per_block": 1024,
    "warp_size": 32,
}

# Names that Inductor's own kernels import from torch.
_HELPERS = {"triton_helpers", "libdevice", "tl_math", "ReductionHint", "TileHint"}

# How files of Inductor's begin that write code for other backends, in torch 2.5.1 to 2.15.0.
_OTHER_BACKENDS = ("cpp", "cpu_", "halide", "mps", "mtia", "pallas", "rocm", "xpu", "cuda/cutlass", "cutlass")

if TYPE_CHECKING:
    # Python 3.8 cannot evaluate them.
    Ask = Callable[[dict[str, Any], list[bytes]], tuple[dict[str, Any], memoryview]]
    # Make a tensor of what a request says of it, and read a value of a request.
    Make = Callable[[Sequence[Any]], Any]
    Read = Callable[[Any], Any]


class Unsupported(Exception):  # noqa: N818 (the name of the outcome)
    """What cannot be tried here."""


class FalseMetadata(Exception):  # noqa: N818 (what it is, not that it is one)
    """A module's launch metadata says something false about a value."""


class DroppedLaunch(Exception):  # noqa: N818 (what it is, not that it is one)
    """The compiled function makes fewer launches than the function does."""


class Abandoned(BaseException):
    """A launch did not finish, so the run ends."""


class CaseLaunch(NamedTuple):
    """One of the case's launches: a call of the host function, or of the kernel."""

    kernel: Any
    grid: Any
    host: Callable[..., object] | None
    args: list[Any]
    kwargs: dict[str, Any]


def is_requested() -> bool:
    """Whether this process is to have torch in it."""
    return "TORCHINDUCTOR_FORCE_DISABLE_CACHES" in os.environ


class Inductor:
    """torch with its answers changed, and the run whose launches are sent out."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        # The fields of the run in a launch frame. None while launches execute nothing.
        self._run: dict[str, Any] | None = None
        self._launches = 0
        self._written: dict[str, str] = {}
        self._requests = 0
        os.environ.update(_ENVIRONMENT)
        import torch

        self.torch: Any = torch
        self._pretend()

    def _pretend(self) -> None:
        """Gives torch the answers of a machine with a GPU."""
        import torch.utils._triton as found
        from triton.runtime.driver import driver

        # Before the modules are imported that take it from there.
        found.has_triton = lambda **_: True
        driver.set_active(FakeDriver())

        from torch._dynamo import device_interface
        from torch._inductor import config
        from torch._inductor.codecache import PyCodeCache
        from torch._inductor.codegen import common
        from torch._inductor.codegen import wrapper as wrappers
        from torch._inductor.codegen.cuda.device_op_overrides import CUDADeviceOpOverrides
        from torch._inductor.codegen.triton import TritonScheduling
        from torch._inductor.runtime import triton_helpers
        from torch._inductor.runtime.hints import DeviceProperties
        from torch._inductor.runtime.triton_heuristics import CachingAutotuner

        for module in list(sys.modules.values()):
            asked = getattr(module, "has_triton", None)
            if str(getattr(module, "__name__", "")).startswith("torch.") and callable(asked):
                module.has_triton = found.has_triton  # type: ignore[attr-defined]

        properties = DeviceProperties(**{name: _H100[name] for name in DeviceProperties._fields})
        DeviceProperties.create = classmethod(lambda _cls, _device: properties)

        class Overrides(CUDADeviceOpOverrides):  # type: ignore[misc]
            def import_get_raw_stream_as(self, name: str) -> str:
                return f"{name} = lambda device: 0"

        # Fills the table, unless that has happened.
        common.get_device_op_overrides("cuda")
        common.register_device_op_overrides("cpu", Overrides())

        write = PyCodeCache.write

        def write_traced(source_code: str, *args: Any, **kwargs: Any) -> Any:
            key, path = write(source_code, *args, **kwargs)
            self._written[path] = source_code
            return key, path

        PyCodeCache.write = staticmethod(write_traced)

        def run(tuner: Any, *args: Any, stream: int, grid: Any = None, **_: Any) -> None:
            self._launched(tuner, args, grid)

        # Inductor's own code (copies of changed views) is Triton too, as on a GPU.
        wrapper = getattr(wrappers, "PythonWrapperCodegen", None) or wrappers.WrapperCodeGen
        common.register_backend_for_device("cpu", TritonScheduling, wrapper)
        # By this name torch chooses the code that it writes, if it uses no table. 2.5 has no such option.
        if hasattr(config, "cpu_backend"):
            config.cpu_backend = "triton"
        # Since torch 2.13 Inductor calls it to find out whether Triton is built for the device. 2.5 has no
        # such class.
        if cpu := getattr(device_interface, "CpuInterface", None):
            cpu.raise_if_triton_unavailable = staticmethod(lambda _device=None: None)
        triton_helpers.set_driver_to_cpu = lambda: None

        CachingAutotuner.precompile = lambda *_, **__: None
        CachingAutotuner.run = run

    def forget(self) -> None:
        """Lets go of what torch keeps of the last compiled function."""
        from torch._higher_order_ops.triton_kernel_wrap import kernel_side_table
        from torch._inductor.codecache import PyCodeCache

        self.torch._dynamo.reset()
        kernel_side_table.reset_table()
        PyCodeCache.cache_clear()
        for name in [
            name for name in sys.modules if name.startswith("torch._inductor.runtime.compile_tasks.c")
        ]:
            del sys.modules[name]
        for file in [
            file for file in linecache.cache if file.startswith(os.path.join(os.getcwd(), "program_"))
        ]:
            del linecache.cache[file]
        self._written.clear()
        gc.collect()

    def answer(
        self,
        header: dict[str, Any],
        blobs: memoryview,
        launches: Callable[[Make], tuple[list[CaseLaunch], Read]],
    ) -> tuple[dict[str, Any], list[bytes], BaseException | None]:
        """Compiles and calls in every mode. `launches`, given what makes a tensor, reads the case's launches,
        and says what reads another value. With the answer, the exception that ended it."""
        wanted = header["inductor"]
        answer: dict[str, Any] = {"mode": None, "undefined": [], "modes": []}
        out: list[bytes] = []
        error: BaseException | None = None
        for index, mode in enumerate(wanted["modes"]):
            self.forget()
            made = 0
            memories: list[Any] = []
            try:
                memory = _Memory(self.torch, header, blobs)
                case, read = launches(memory.tensor)
                program = _Program(self.torch, case, mode, self._requests)
                self._requests += 1
                compiled = self.torch.compile(program.function, dynamic=mode["dynamic"], fullgraph=True)
                self._run = None
                for changed in program.find_changed(mode["before"], read):
                    compiled(*changed)
                for run in range(wanted["runs"]):
                    memory.restore()
                    self._run = {"run": run, "mode": index}
                    self._launches = 0
                    try:
                        compiled(*program.inputs)
                    except Abandoned:
                        memories.append(None)
                        continue
                    made = self._launches
                    if made < program.launches:
                        raise DroppedLaunch(
                            f"the function makes {program.launches} launches; compiled it makes {made}"
                        )
                    memories.append(memory.describe_storages(out))
            except Exception as raised:  # noqa: BLE001 (every one is an outcome)
                error = raised
                if (backend := other_backend(raised)) is not None:
                    error = Unsupported(
                        f"torch writes code for another backend, `{backend}`, and not for a GPU: {raised}"
                    )
                answer["mode"] = index
            finally:
                self._run = None
            for path, text in self._written.items():
                answer["undefined"] += [
                    {"module": os.path.basename(path), **one._asdict()} for one in find_undefined(text)
                ]
            if error is not None:
                break
            answer["modes"].append({"runs": memories, "launches": made})
        self.forget()
        return answer, out, error

    def _launched(self, tuner: Any, args: Sequence[Any], grid: Any) -> None:
        """A launch of the generated wrapper: is sent out, and changes the memory as the answer says."""
        name, values, resolved = _resolved(tuner, args, grid)
        self._launches += 1
        if self._run is None:
            return
        storages: dict[int, Any] = {}
        config = tuner.configs[0]
        source = to_plain_triton(_text_of(tuner.fn))
        helpers = {one.symbol for one in find_undefined(source)} & _HELPERS
        if helpers:
            raise Unsupported(f"a kernel of Inductor's own that needs {', '.join(sorted(helpers))}")
        frame = {
            **self._run,
            "name": name,
            "source": source,
            "grid": resolved,
            "args": [[name, _encoded(self.torch, value, storages)] for name, value in values.items()],
            "options": [["num_warps", config.num_warps], ["num_stages", config.num_stages]],
            "storages": [storage.nbytes() for storage in storages.values()],
        }
        sent = [_bytes_of(storage) for storage in storages.values()]
        header, back = self._ask({"launch": frame}, sent)
        if not header["go"]:
            raise Abandoned
        start = 0
        for storage, before in zip(storages.values(), sent):
            after = bytes(back[start : start + len(before)])
            start += len(before)
            if after != before:
                _write(storage, after)


def other_backend(error: BaseException) -> str | None:
    """The file of the code for a backend other than Triton's in which an exception was raised, if it was. CPU
    tensors lead there, and a GPU's do not."""
    step = errors.chain_of(error)[-1].__traceback__
    if step is None:
        return None
    while step.tb_next is not None:
        step = step.tb_next
    _, folder, name = step.tb_frame.f_code.co_filename.replace(os.sep, "/").rpartition(
        "torch/_inductor/codegen/"
    )
    return name if folder and name.startswith(_OTHER_BACKENDS) else None


def _resolved(tuner: Any, args: Sequence[Any], grid: Any) -> tuple[str, dict[str, Any], list[int]]:
    """The kernel's name, every parameter's value and the grid of a launch, as the launcher of the compiled
    kernel reads them: constants of the metadata are compiled in, whatever the call passes. The first of
    several configurations is used."""
    function = tuner.fn
    names = list(function.arg_names)
    meta, config = tuner.triton_meta, tuner.configs[0]
    declared = {parameter.name for parameter in function.params if parameter.is_constexpr}
    constants = {parameter_of(key, names): value for key, value in meta["constants"].items()}
    signature = {parameter_of(key, names): kind for key, kind in meta["signature"].items()}
    constants.update(config.kwargs)
    if any(kind == "constexpr" for kind in signature.values()):
        if _takes_constexprs():
            # The tuner inserts a configuration's values among the arguments.
            own = {"num_warps", "num_stages", *config.kwargs}
            given = [name for name in names if name not in own]
        else:
            given = [name for name in names if not (name in declared and name in constants)]
    else:
        dropped = {name for name, value in constants.items() if value is None and name not in declared}
        dropped -= set(signature)
        given = [name for name in names if name not in config.kwargs and name not in dropped]
    absent = [name for name in names if name not in constants and signature.get(name) in (None, "constexpr")]
    if absent:
        raise FalseMetadata(f"the metadata says nothing of `{'`, `'.join(absent)}`")
    given += tuner.inductor_meta.get("extra_launcher_args", ())
    if len(given) != len(args):
        raise TypeError(
            f"launcher() takes {', '.join(given)}: {len(given)} arguments, and is given {len(args)}"
        )
    bound = dict(zip(given, args))
    # No launcher reads constants that are compiled in: some number stands for a type, or a text.
    unread = declared if _takes_constexprs() else set()
    for name, value in constants.items():
        # In the place of None later versions pass some number.
        if value is not None and name in bound and name not in unread and bound[name] != value:
            raise FalseMetadata(
                f"the metadata says that `{name}` is {value!r}; the call passes {bound[name]!r}"
            )
    for at in _divisible(meta["configs"][0]):
        argument: Any = bound.get(names[at])
        number = argument.data_ptr() if hasattr(argument, "data_ptr") else argument
        if isinstance(number, int) and number % 16:
            raise FalseMetadata(
                f"the metadata says that `{names[at]}` is divisible by 16; the call passes {number}"
            )
    for name, kind in signature.items():
        value = bound.get(name)
        if kind == "i32" and isinstance(value, int) and not -(1 << 31) <= value < 1 << 31:
            raise FalseMetadata(f"the metadata says that `{name}` is an i32; the call passes {value}")
    values = {name: constants[name] if name in constants else bound[name] for name in names}
    if grid is None:
        resolved = _grid(tuner.inductor_meta, config, bound)
    else:
        resolved = grid(config.kwargs) if callable(grid) else grid
    sizes = [int(size) for size in resolved]
    return function.__name__, values, sizes + [1] * (3 - len(sizes))


def _takes_constexprs() -> bool:
    """Whether the launcher of a kernel takes its constexprs as well: that of torch 2.7 and 2.8."""
    import torch

    return tuple(int(number) for number in torch.__version__.split(".")[:2]) < (2, 9)


def _grid(meta: dict[str, Any], config: Any, bound: dict[str, Any]) -> list[int]:
    """The grid that the launcher computes by itself, from 2.7 on."""
    from torch._inductor.runtime.triton_heuristics import GridExpr

    expression = GridExpr.from_meta(meta, config)
    scope = dict(bound)
    for line in expression.prefix:
        exec(line, scope)  # noqa: S102 (as the launcher does)
    return [eval(str(size), scope) for size in (expression.x_grid, expression.y_grid, expression.z_grid)]


def _divisible(attributes: Any) -> list[int]:
    """Positions of parameters that are divisible by 16 according to the metadata."""
    if isinstance(attributes, dict):
        return [at for (at, *_), hints in attributes.items() if ["tt.divisibility", 16] in hints]
    # For Triton 3.2.
    properties = getattr(attributes, "arg_properties", None)
    return list(attributes.divisible_by_16 if properties is None else properties.get("tt.divisibility", ()))


def _text_of(function: Any) -> str:
    """The module that Inductor wrote for a kernel."""
    with open(function.fn.__code__.co_filename, encoding="utf-8") as file:
        return file.read()


def _encoded(torch: Any, value: Any, storages: dict[int, Any]) -> Any:
    """A value in wire format; tensors' storages are added to those of the launch."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 63 else ["i", str(value)]
    if isinstance(value, float):
        return ["f", struct.unpack("<Q", struct.pack("<d", value))[0]]
    if isinstance(value, tl.constexpr):
        return _encoded(torch, value.value, storages)
    if isinstance(value, tl.dtype):
        return [
            "d",
            next(name for name, one in vars(tl).items() if isinstance(one, tl.dtype) and one == value),
        ]
    if isinstance(value, (tuple, list)):
        return ["u", [_encoded(torch, item, storages) for item in value]]
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        index = list(storages).index(storage._cdata) if storage._cdata in storages else len(storages)
        storages.setdefault(storage._cdata, storage)
        kind = str(value.dtype).rpartition(".")[2]
        return ["t", index, kind, list(value.shape), list(value.stride()), value.storage_offset()]
    raise Unsupported(f"an argument of type {type(value).__name__}")


def _is_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _bytes_of(storage: Any) -> bytes:
    return ctypes.string_at(storage.data_ptr(), storage.nbytes()) if storage.nbytes() else b""


def _write(storage: Any, data: bytes) -> None:
    ctypes.memmove(storage.data_ptr(), data, len(data))


class _Memory:
    """The case's storages as torch's own. Guard zones are not among what torch sees: who executes a launch
    looks after them."""

    def __init__(self, torch: Any, header: dict[str, Any], blobs: memoryview) -> None:
        self._torch = torch
        self._first: list[bytes] = []
        self._guards: list[tuple[bytes, bytes]] = []
        self._storages: list[Any] = []
        # Equal descriptions are one tensor, as one variable of a program is.
        self._tensors: dict[str, Any] = {}
        # The tensor that is all of a storage, by the first argument if that is it. Others are views of it, as
        # they are in programs.
        self._wholes: dict[tuple[int, Any], Any] = {}
        start = 0
        for size, front, back, relocations, holds in header["storages"]:
            if relocations or holds:
                raise Unsupported("a storage that holds addresses")
            data = bytes(blobs[start : start + size])
            start += size
            self._first.append(data[front : size - back])
            self._guards.append((data[:front], data[size - back :]))
            storage = torch.empty(size - front - back, dtype=torch.uint8).untyped_storage()
            self._storages.append(storage)
        self.restore()

    def restore(self) -> None:
        """The bytes that were there at first."""
        for storage, data in zip(self._storages, self._first):
            if data:
                _write(storage, data)

    def tensor(self, spec: Sequence[Any]) -> Any:
        """The tensor that a request describes: storage, dtype, shape, strides, offset."""
        storage, name, shape, strides, offset = spec
        kind = getattr(self._torch, name, None)
        if not isinstance(kind, self._torch.dtype):
            raise Unsupported(f"torch has no {name}")
        key = json.dumps(spec)
        if key not in self._tensors:
            whole = self._wholes.get((storage, kind))
            if whole is None:
                data = self._storages[storage]
                count = data.nbytes() // kind.itemsize
                alone = offset == 0 and _is_contiguous(shape, strides) and math.prod(shape) == count
                size = shape if alone else (count,)
                whole = self._torch.empty(0, dtype=kind).set_(data, 0, size)
                self._wholes[storage, kind] = whole
            same = (*whole.shape,) == (*shape,) and whole.stride() == (*strides,) and offset == 0
            self._tensors[key] = whole if same else whole.as_strided(shape, strides, offset)
        return self._tensors[key]

    def describe_storages(self, out: list[bytes]) -> list[Any]:
        """The storages after the run, in wire format; the bytes are added to `out`."""
        memory: list[Any] = []
        for storage, first, (front, back) in zip(self._storages, self._first, self._guards):
            data = _bytes_of(storage)
            if data == first:
                memory.append([None, []])
            else:
                memory.append([len(front) + len(data) + len(back), []])
                out.append(front + data + back)
        return memory


class _Program:
    """The function that is compiled: all launches of the case, with their tensors and numbers as its inputs.
    The value of a constexpr is a literal in it, as in most programs, unless calls differ in it."""

    def __init__(self, torch: Any, launches: list[CaseLaunch], mode: dict[str, Any], number: int) -> None:
        self.launches = len(launches)
        # Every input, and the parameter that it is the argument of.
        self._inputs: dict[str, Any] = {}
        self._parameters: dict[str, str] = {}
        self._globals: dict[str, Any] = {}
        self._changing = {name for changed in mode["before"] for name, _ in changed}
        lines = [self._line(index, launch) for index, launch in enumerate(launches)]
        text = f"def program({', '.join(self._inputs)}):\n" + "".join(f"    {line}\n" for line in lines)
        # Compiled from its own source, because torch caches by a function's file and line. A function without
        # a source is called from one of torch's, whose cache never ends.
        file = os.path.join(os.getcwd(), f"program_{number}.py")
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec", dont_inherit=True), self._globals)  # noqa: S102
        self.function = self._globals["program"]
        for mark in ("mark_dynamic", "maybe_mark_dynamic"):
            for parameter, dimension in mode[mark]:
                for name, value in self._inputs.items():
                    if self._parameters[name] == parameter:
                        getattr(torch._dynamo, mark)(value, dimension)
        self.inputs = list(self._inputs.values())

    def find_changed(self, calls: list[list[tuple[str, Any]]], read: Callable[[Any], Any]) -> list[list[Any]]:
        """The inputs of the calls before the one that counts."""
        made = []
        for changed in calls:
            values = {name: read(value) for name, value in changed}
            made.append([values.get(self._parameters[name], value) for name, value in self._inputs.items()])
        return made

    def _line(self, index: int, launch: CaseLaunch) -> str:
        kernel = launch.kernel
        while not hasattr(kernel, "params"):
            kernel = kernel.fn
        constexprs = {parameter.name for parameter in kernel.params if parameter.is_constexpr}
        self._globals[f"kernel_{index}"] = launch.kernel
        grid = self._constant(f"grid_{index}", launch.grid)
        named = {**dict(zip(kernel.arg_names, launch.args)), **launch.kwargs}
        words = {
            name: self._constant(f"{name}_{index}", value)
            if name not in kernel.arg_names or (name in constexprs and name not in self._changing)
            else self._input(name, value)
            for name, value in named.items()
        }
        if launch.host is not None:
            self._globals[f"host_{index}"] = launch.host
            items = ", ".join(f"{name!r}: {word}" for name, word in words.items())
            return f"host_{index}(kernel_{index}, {grid}, {{{items}}})"
        places = list(words.values())[: len(launch.args)]
        places += [f"{name}={word}" for name, word in list(words.items())[len(launch.args) :]]
        return f"kernel_{index}[{grid}]({', '.join(places)})"

    def _constant(self, name: str, value: Any) -> str:
        """The text of a value that is not an input: its literal if it has one, otherwise a global's name."""
        if _is_literal(value):
            return repr(value)
        self._globals[name] = value
        return name

    def _input(self, parameter: str, value: Any) -> str:
        """The input that is this value."""
        for name, known in self._inputs.items():
            if known is value or (self._parameters[name] == parameter and _same(known, value)):
                return name
        name = parameter if parameter not in self._inputs else f"{parameter}_{len(self._inputs)}"
        self._inputs[name] = value
        self._parameters[name] = parameter
        return name


def _is_literal(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, tuple):
        return all(_is_literal(item) for item in value)
    return value is None or type(value) in (bool, int, str)


def _same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and isinstance(left, (int, float, str, bool)) and left == right
