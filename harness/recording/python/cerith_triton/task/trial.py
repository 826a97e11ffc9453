"""One trial of a task: inputs, and the result of the reference function in float64; both written to files.

See `cerith_triton.task` for the messages.
"""

from __future__ import annotations

import contextlib
import math
import random
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence, TypeVar

import numpy as np

from .. import arguments, formats
from .. import inputs as kinds
from ..arguments import Copies
from ..devices import watch_torch
from ..formats import Array
from ..inputs import Data
from ..standin.dtypes import DTYPES
from ..storages import Storage
from ..structure import Leaves, list_leaves
from .dataflow import DataFlow
from .metering import Meter

# Bytes of all files of a trial.
_MAX_BYTES = 1 << 28
# Operations of one run of a reference function.
_MAX_WORK = 1 << 31
# Kinds of data with equal elements: the index of the largest one is not defined.
_TIED = ("zeros", "one-hot", "integers", "ties")


class TaskError(Exception):
    """A task that cannot be judged."""


class TrialSkipped(Exception):  # noqa: N818 (not an error: other data may do)
    """A trial that cannot be made with this kind of data or these sizes."""


class NotFinite(TrialSkipped):
    """A trial whose result has a NaN or an infinity."""

    def __init__(self) -> None:
        super().__init__("the reference's result has a NaN or an infinity")


@dataclass
class Inputs:
    """The inputs of a call."""

    args: Sequence[Any] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    init: Sequence[Any] = ()
    """Arguments of a module's constructor."""
    state: dict[str, Any] = field(default_factory=dict)
    """A module's parameters and buffers."""
    sizes: str = ""
    """The sizes, for a reader."""


@dataclass
class Expected:
    """An output of the reference function."""

    name: str
    dtype: str
    values: Array
    depends: bool = True
    """Whether it may depend on elements of the inputs."""


@dataclass
class LaunchedOutput:
    """An output of a reference that is itself a kernel: a view of a storage of a launch."""

    name: str
    dtype: str
    shape: Sequence[int]
    strides: Sequence[int]
    offset: int
    launch: int
    storage: int


@dataclass
class Outputs:
    """The result of the reference function."""

    structure: Any
    """As `cerith_triton.structure` describes it."""
    tensors: Sequence[Expected | LaunchedOutput]


class Files:
    """The files of a trial, in a folder. Views of one storage share a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[Any, str] = {}
        self._bytes = 0
        # An address names one storage as long as it is held.
        self._held: list[Any] = []

    def write_value(self, value: Any) -> dict[str, Any]:
        """A value as JSON. Raises `TrialSkipped` for one without a form."""
        dtype = _find_dtype(value)
        if arguments.is_tensor(value):
            return {"tensor": self.write_tensor(value)}
        if value is None:
            return {"none": True}
        if isinstance(value, bool):
            return {"bool": value}
        if isinstance(value, int):
            return {"int": value}
        if isinstance(value, float):
            # JSON has no NaN and no infinities.
            return {"number": value if math.isfinite(value) else str(value)}
        if isinstance(value, str):
            return {"text": value}
        if dtype is not None:
            return {"dtype": dtype}
        if type(value).__name__ == "device":
            return {"text": str(value)}
        if isinstance(value, (list, tuple)):
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [self.write_value(one) for one in value]}
        raise TrialSkipped(f"an argument is a {type(value).__qualname__}, which has no form in a message")

    def write_tensor(self, tensor: Any) -> dict[str, Any]:
        """A tensor as JSON; its storage becomes a file."""
        dtype = arguments.dtype_of(tensor)
        if dtype not in DTYPES:
            raise TrialSkipped(f"an argument is a tensor of {dtype}, which kernels do not have")
        if isinstance(tensor, np.ndarray):
            ordered = all(stride >= 0 and stride % tensor.itemsize == 0 for stride in tensor.strides)
            array = tensor if ordered else np.ascontiguousarray(tensor)
            self._held.append(array)
            tensor = arguments.ArrayTensor(array)
        elif arguments.is_torch(tensor):
            tensor = _resolve(tensor)
        held = tensor.untyped_storage()
        on_cpu = str(getattr(tensor.device, "type", tensor.device)) == "cpu"
        storage = Storage(held, int(held.data_ptr()), on_cpu, "an argument")
        address, size = storage.address, storage.size
        key = (address, size) if size else len(self._known)
        if key not in self._known:
            self._known[key] = self._write(f"storage-{len(self._known)}.bin", storage.read())
            self._held.append(tensor)
        return {
            "file": self._known[key],
            "dtype": dtype,
            "shape": [int(one) for one in tensor.shape],
            "strides": [int(one) for one in tensor.stride()],
            "offset": int(tensor.storage_offset()),
        }

    def write_expected(self, at: int, expected: Expected | LaunchedOutput) -> dict[str, Any]:
        """An output as JSON; its values become a file of float64 or int64, row-major and little-endian."""
        if isinstance(expected, LaunchedOutput):
            return asdict(expected)
        is_float = formats.is_float(expected.dtype)
        values = expected.values.astype("<f8" if is_float else "<i8")
        name = f"expected-{at}.{'f64' if is_float else 'i64'}"
        return {
            "name": expected.name,
            "dtype": expected.dtype,
            "shape": list(values.shape),
            "file": self._write(name, values.tobytes()),
            "depends": expected.depends,
        }

    def _write(self, name: str, content: bytes) -> str:
        self._bytes += len(content)
        if self._bytes > _MAX_BYTES:
            raise TrialSkipped(f"the inputs and results have more than {_MAX_BYTES >> 20} MiB")
        (self._folder / name).write_bytes(content)
        return name


def write_trial(folder: Path, inputs: Inputs, expected: Outputs) -> dict[str, Any]:
    """A trial as JSON, with its files in a folder."""
    files = Files(folder)
    return {
        "init": [files.write_value(one) for one in inputs.init],
        "state": [{"name": name, "tensor": files.write_tensor(one)} for name, one in inputs.state.items()],
        "args": [files.write_value(one) for one in inputs.args],
        "kwargs": {name: files.write_value(one) for name, one in inputs.kwargs.items()},
        "outputs": [files.write_expected(at, one) for at, one in enumerate(expected.tensors)],
        "structure": expected.structure,
        "sizes": inputs.sizes,
    }


def _resolve(tensor: Any) -> Any:
    """A plain tensor with the same elements: no gradient, and no conjugation or negation that is due."""
    plain = tensor.detach()
    if plain.layout is not arguments.torch_of().strided or plain.is_quantized:
        raise TrialSkipped(f"an argument is a tensor of {plain.layout}, which kernels do not have")
    return plain.resolve_neg()


def _find_dtype(value: Any) -> str | None:
    """The name of a dtype of torch's or NumPy's; None for any other value."""
    torch = arguments.torch_of()
    if torch is not None and isinstance(value, torch.dtype):
        return str(value).rpartition(".")[2]
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return str(np.dtype(value))
    return None


def choose_contract(values: Any) -> dict[str, Any]:
    """The precision that a task with these arguments asks for: sums are `float32`, or `float64` if all floats
    are."""
    found: list[str] = []
    arguments.map_tensors(values, lambda one: found.append(arguments.dtype_of(one)))
    floats = {dtype for dtype in found if formats.is_float(dtype)}
    return {"accumulate": "float64" if floats == {"float64"} else "float32", "tf32": True}


# Data.


def seed_libraries(seed: int) -> None:
    """Seeds the generators that a task may use."""
    random.seed(seed)
    np.random.seed(seed % (1 << 32))
    torch = arguments.torch_of()
    if torch is not None:
        torch.manual_seed(seed)


DOMAINS: dict[str, Callable[[Array], Array]] = {
    "real": lambda values: values,
    "positive": np.abs,
    "unit": lambda values: values / _find_scale(values),
    "positive unit": lambda values: np.abs(values) / _find_scale(values),
}
"""Domains of functions, such as the logarithm, and the change that brings data into them."""


def _find_scale(values: Array) -> float:
    """A power of two above all values: a division by it is exact."""
    largest = float(np.abs(values).max()) if values.size else 0.0
    return 2.0 ** (math.frexp(largest)[1] + 1) if math.isfinite(largest) else 1.0


Made = TypeVar("Made")


def try_domains(chosen: Data, make: Callable[[str], Made]) -> Made:
    """The first result of `make` for a domain with finite results. Raises the exception of the first one."""
    first: NotFinite | None = None
    for domain in DOMAINS:
        try:
            return make(domain)
        except NotFinite as error:
            first = first or error
        if chosen.kind in (kinds.GIVEN, "non-finite"):
            break
    assert first is not None
    raise first


def fill_arguments(inputs: Inputs, chosen: Data, strided: bool = False, domain: str = "real") -> Inputs:
    """The inputs with the floats of arguments replaced by a kind of data. With `strided`, tensors of two or
    more dimensions are not contiguous."""
    if chosen.kind == kinds.GIVEN and not strided:
        return inputs
    copies = Copies()
    found: dict[int, Any] = {}

    def change(tensor: Any) -> Any:
        if id(tensor) not in found:
            made = make_strided(tensor) if strided else copy_tensor(copies, tensor)
            dtype = arguments.dtype_of(tensor)
            if chosen.kind != kinds.GIVEN and formats.is_float(dtype):
                shape = tuple(int(one) for one in tensor.shape)
                values = kinds.fill(chosen, len(found), shape, dtype)
                write_values(made, DOMAINS[domain](values))
            found[id(tensor)] = made
        return found[id(tensor)]

    args = arguments.map_tensors(list(inputs.args), change)
    kwargs = arguments.map_tensors(dict(inputs.kwargs), change)
    return Inputs(args, kwargs, inputs.init, inputs.state, inputs.sizes)


def make_strided(tensor: Any) -> Any:
    """A copy whose last dimension is not the one that is contiguous in memory, with an offset."""
    if len(tensor.shape) < 2:
        return copy_tensor(Copies(), tensor)
    if isinstance(tensor, np.ndarray):
        memory = np.zeros((tensor.shape[-1] + 1, *tensor.shape[:-1]), tensor.dtype)
        view = np.moveaxis(memory[1:], 0, -1)
        view[...] = tensor
        return view
    if not arguments.is_torch(tensor):
        return Copies().copy(tensor)
    plain = tensor.detach()
    memory = plain.new_zeros((plain.shape[-1] + 1, *plain.shape[:-1]))
    view = memory[1:].movedim(0, -1)
    return view.copy_(plain)


def copy_tensor(copies: Copies, tensor: Any) -> Any:
    """A copy of the kind that the task has, with the original's strides: an array stays an array."""
    return np.copy(tensor, order="K") if isinstance(tensor, np.ndarray) else copies.copy(tensor)


def write_values(tensor: Any, values: Array) -> None:
    """Fills a tensor or an array with float64 values."""
    if isinstance(tensor, np.ndarray):
        bits = formats.encode(np.ascontiguousarray(values), str(tensor.dtype))
        tensor[...] = bits.view(tensor.dtype).reshape(tensor.shape)
    else:
        arguments.write_values(tensor, values)


def fill_parameter(initial: Array, chosen: Data, position: int, dtype: str) -> Array:
    """Values for a parameter: as large as those that the task starts with, but not constant, because a
    kernel that ignores a weight of ones and a bias of zeros must be found."""
    source = np.random.default_rng([chosen.seed, 1 << 20, position])
    shape: tuple[int, ...] = initial.shape
    spread = float(initial.std()) if initial.size > 1 else 0.0
    if chosen.kind in _TIED:
        # Small integers: sums stay exact.
        values: Array = source.integers(-2, 3, shape).astype(np.float64)
        if spread == 0:
            np.add(values, np.round(initial.mean()), out=values)
    elif spread == 0:
        values = initial + source.uniform(-0.75, 0.75, shape)
    else:
        values = source.normal(initial.mean(), spread, shape)
    return formats.round_to(values, dtype)


# The reference function.


@contextlib.contextmanager
def _run_exactly() -> Iterator[None]:
    """A context in which torch makes float64 tensors by default, and casts to floats give float64."""
    torch = arguments.torch_of()
    if torch is None:
        yield
        return
    from torch.overrides import TorchFunctionMode

    casts = {"float", "half", "bfloat16"}

    def widen(value: Any) -> Any:
        return torch.float64 if isinstance(value, torch.dtype) and value.is_floating_point else value

    class ExactMode(TorchFunctionMode):  # type: ignore[misc]
        """Replaces the dtypes of floats in the arguments of torch's functions."""

        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            name = getattr(function, "__name__", "")
            if name in casts and args and isinstance(args[0], torch.Tensor):
                return args[0].double()
            given = {key: widen(value) for key, value in (kwargs or {}).items()}
            return function(*(widen(one) for one in args), **given)

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with ExactMode():
            yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def run_task_code(limit: int = _MAX_WORK) -> Iterator[Meter]:
    """A context for functions of a task: on the CPU, without gradients and warnings."""
    torch = arguments.torch_of()
    with contextlib.ExitStack() as stack:
        stack.enter_context(np.errstate(all="ignore"))
        meter = Meter(limit)
        if torch is not None:
            stack.enter_context(watch_torch(lambda _tensor: None))
            stack.enter_context(torch.no_grad())
            stack.enter_context(meter.watch())
        yield meter


Call = Callable[[Inputs, bool], Any]
"""Calls the reference function with inputs of its own; with true, in float64."""


def compute_expected(call: Call, inputs: Inputs, kind: str) -> Outputs:
    """The outputs of the reference function. Raises `TrialSkipped` if they cannot be compared."""
    seed_libraries(0)
    # Copies are made outside of the contexts, which replace dtypes and devices.
    copies, wide_copies = copy_inputs(inputs), widen_inputs(inputs)
    changed = read_all(copies)
    flow = DataFlow([list(copies.args), dict(copies.kwargs), dict(copies.state)])
    watch = flow.watch if arguments.torch_of() is not None else contextlib.nullcontext
    with run_task_code() as meter, watch():
        native = flatten(_attempt(call, copies, False))
    if read_all(copies) != changed:
        raise TrialSkipped("the reference function changes its arguments")
    if not native.values:
        raise TrialSkipped("the reference function returns no tensor")
    seed_libraries(0)
    with run_task_code(), _run_exactly():
        exact = flatten(_attempt(call, wide_copies, True))
    if native.structure != exact.structure:
        raise TrialSkipped("the reference function returns other outputs for float64")
    found = []
    for name, value, wide in zip(native.names, native.values, exact.values):
        one = _compare_precisions(name, value, wide, _find_array_dtype(inputs, value))
        one.depends = flow.is_reached(value)
        found.append(one)
    if kind == "huge" and (meter.has_converted or any(_is_integer(one.dtype) for one in found)):
        raise TrialSkipped("integers are not defined for numbers beyond their range")
    if (
        kind in _TIED
        and any(one.dtype in ("int64", "int32") for one in found)
        and any(formats.is_float(one) for one in _list_dtypes(inputs))
    ):
        raise TrialSkipped("equal elements have no one index")
    return Outputs(native.structure, found)


def check_repeatable(call: Call, inputs: Inputs, expected: Outputs) -> None:
    """Raises `TaskError` if another seed of the libraries gives another result for the same inputs."""
    seed_libraries(1)
    copies = copy_inputs(inputs)
    with run_task_code():
        again = flatten(_attempt(call, copies, False))
    for one, value in zip(expected.tensors, again.values):
        assert isinstance(one, Expected)
        values = arguments.read_values(value).astype(np.float64)
        exact = one.values.astype(np.float64)
        if values.shape != exact.shape or not _agree(values, exact, one.dtype):
            raise TaskError("the reference function is random, or has tensors that are not parameters")


def _attempt(call: Call, inputs: Inputs, exact: bool) -> Any:
    try:
        return call(inputs, exact)
    except (TrialSkipped, TaskError):
        raise
    except Exception as error:
        precision = " in float64" if exact else ""
        raise TrialSkipped(f"the reference function raised{precision} {describe_error(error)}") from error


def copy_inputs(inputs: Inputs) -> Inputs:
    """Inputs that a function may change."""
    copies = Copies()

    def copy(tensor: Any) -> Any:
        # A stand-in has no arithmetic.
        is_stand_in = not isinstance(tensor, np.ndarray) and not arguments.is_torch(tensor)
        return arguments.read_values(tensor) if is_stand_in else copy_tensor(copies, tensor)

    return Inputs(
        arguments.map_tensors(list(inputs.args), copy),
        arguments.map_tensors(dict(inputs.kwargs), copy),
        inputs.init,
        arguments.map_tensors(dict(inputs.state), copy),
        inputs.sizes,
    )


def widen_inputs(inputs: Inputs) -> Inputs:
    """Inputs that a function may change, with floats as float64."""
    torch = arguments.torch_of()
    made: dict[int, Any] = {}
    copies = Copies()

    def widen(tensor: Any) -> Any:
        if id(tensor) not in made:
            made[id(tensor)] = arguments.make_reference_copy(tensor, copies.copy(tensor))
        return made[id(tensor)]

    def change(value: Any) -> Any:
        if torch is not None and isinstance(value, torch.dtype) and value.is_floating_point:
            return torch.float64
        return value

    return Inputs(
        [change(one) for one in arguments.map_tensors(list(inputs.args), widen)],
        {name: change(one) for name, one in arguments.map_tensors(dict(inputs.kwargs), widen).items()},
        inputs.init,
        arguments.map_tensors(dict(inputs.state), widen),
        inputs.sizes,
    )


def flatten(value: Any) -> Leaves:
    """The structure of a result, and its tensors with names."""
    found = list_leaves(value)
    tensors = []
    for name, one in zip(found.names, found.values):
        if not arguments.is_tensor(one) and not isinstance(one, np.generic):
            returned = f"a {type(one).__qualname__}" + ("" if name == "output" else f" as `{name}`")
            raise TrialSkipped(f"the reference function returns {returned}, not a tensor")
        tensors.append(np.asarray(one) if isinstance(one, np.generic) else one)
    return Leaves(found.structure, found.names, tensors)


def _find_array_dtype(inputs: Inputs, native: Any) -> str:
    """The dtype of an output. NumPy computes in float64 if one operand is that, and has no narrow dtypes: an
    array of float64 has the dtype of the first argument of floats."""
    dtype = arguments.dtype_of(native)
    if dtype != "float64" or not isinstance(native, np.ndarray):
        return dtype
    floats = [one for one in _list_dtypes(inputs) if formats.is_float(one)]
    return floats[0] if floats and "float64" not in floats else dtype


def _compare_precisions(name: str, native: Any, exact: Any, dtype: str) -> Expected:
    """The expected output, from the results in the task's dtypes and in float64."""
    for one in (native, exact):
        if arguments.dtype_of(one) not in DTYPES:
            returned = arguments.dtype_of(one)
            raise TrialSkipped(f"the reference function returns {returned}, which kernels do not have")
    narrow, wide = arguments.read_values(native), arguments.read_values(exact)
    if narrow.shape != wide.shape:
        raise TrialSkipped("the reference function returns another shape for float64")
    if not (np.isfinite(narrow.astype(np.float64)).all() and np.isfinite(wide.astype(np.float64)).all()):
        raise NotFinite
    if not _agree(narrow.astype(np.float64), wide.astype(np.float64), dtype):
        raise TrialSkipped(f"the reference's result in float64 is far from that in {dtype}")
    return Expected(name, dtype, wide)


def _is_integer(dtype: str) -> bool:
    return not formats.is_float(dtype) and dtype != "bool"


def _agree(narrow: Array, wide: Array, dtype: str) -> bool:
    """Whether results differ by no more than rounding may explain."""
    if not formats.is_float(dtype):
        return bool((narrow == wide).all())
    largest = float(np.abs(wide).max()) if wide.size else 0.0
    tolerance = min(2.0 ** -(formats.FORMATS[dtype].fraction // 2), 0.25)
    return bool((np.abs(narrow - wide) <= tolerance * max(largest, 1e-30)).all())


def read_all(inputs: Inputs) -> list[bytes]:
    """The elements of all arguments."""
    found: list[bytes] = []
    values = [list(inputs.args), dict(inputs.kwargs)]
    arguments.map_tensors(values, lambda one: found.append(arguments.read_bits(one).tobytes()))
    return found


def _list_dtypes(inputs: Inputs) -> list[str]:
    found: list[str] = []
    values = [list(inputs.args), dict(inputs.kwargs)]
    arguments.map_tensors(values, lambda one: found.append(arguments.dtype_of(one)))
    return found


def describe_error(error: BaseException) -> str:
    """An exception in one line."""
    text = " ".join(str(error).split())
    name = type(error).__name__
    return f"{name}: {text[:200]}" if text else name
