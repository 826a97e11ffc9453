"""Arguments of a launcher and of its reference function: copied, filled with data, and read.

A tensor is torch's, a NumPy array, or a stand-in (`standin.host`). torch is not imported here: without it,
no argument is a tensor of torch's.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from . import formats
from .formats import Array
from .standin import layout
from .standin.dtypes import DTYPES
from .standin.host import StandIn, make_storage
from .standin.memory import CPU

_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def torch_of() -> Any:
    """torch, if this process has imported it."""
    return sys.modules.get("torch")


def is_torch(value: Any) -> bool:
    """Whether a value is a tensor of torch's."""
    kind = getattr(torch_of(), "Tensor", None)
    return kind is not None and isinstance(value, kind)


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor of any kind."""
    return isinstance(value, (np.ndarray, StandIn)) or is_torch(value)


def dtype_of(tensor: Any) -> str:
    """The name of a tensor's dtype, as torch spells it."""
    return str(tensor.dtype).rpartition(".")[2]


def find_obstacle(tensor: Any) -> str | None:
    """Why a tensor's elements are not simply the bytes of its memory: `it is lazily negated`. `None` if they
    are. No code of a subclass of torch's tensors runs."""
    torch = torch_of()
    if not is_torch(tensor):
        return None
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return f"it is a `{type(tensor).__qualname__}`, not a plain tensor"
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return "it is a wrapper of another tensor"
    if tensor.layout is not torch.strided:
        return f"it has the layout {tensor.layout}"
    if tensor.is_nested or tensor.is_quantized:
        return "it is a nested or quantized tensor"
    if tensor.is_neg() or tensor.is_conj() or tensor._is_zerotensor():
        # The memory holds other values.
        return "torch negates, conjugates or zeroes it when it is read"
    try:
        storage = tensor.untyped_storage()
        if storage.nbytes() and not storage.data_ptr():
            return f"it has no memory on the device {tensor.device}"
    except (RuntimeError, NotImplementedError):
        return "it has no memory"
    return None


def read_bits(tensor: Any) -> Array:
    """The elements as unsigned integers of their size, in the tensor's shape."""
    if isinstance(tensor, StandIn):
        return tensor._elements().copy()
    if isinstance(tensor, np.ndarray):
        plain = np.ascontiguousarray(tensor).reshape(tensor.shape)
        return plain.view(_WORDS[plain.itemsize]).copy()
    torch = torch_of()
    flat = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
    words = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[flat.element_size()]
    found: Array = flat.view(words).numpy()
    return found.view(_WORDS[found.itemsize]).reshape(tuple(tensor.shape)).copy()


def read_values(tensor: Any) -> Array:
    """The elements as float64, or as integers or bools of their own dtype.

    Raises `TypeError` for complex numbers and other dtypes that kernels have not.
    """
    dtype = dtype_of(tensor)
    if formats.is_float(dtype):
        return formats.decode(read_bits(tensor), dtype)
    if dtype not in DTYPES:
        raise TypeError(f"tensors of dtype {dtype} are not supported")
    bits = read_bits(tensor)
    return bits.view(np.dtype(dtype)).reshape(bits.shape)


def read_storage(tensor: Any) -> Array:
    """All elements of a tensor's storage, in order: also those that the tensor does not show."""
    size = int(tensor.untyped_storage().nbytes()) // tensor.element_size()
    if isinstance(tensor, StandIn):
        return read_values(StandIn(tensor.untyped_storage(), tensor.dtype, (size,), (1,), 0))
    whole = torch_of().empty(0, dtype=tensor.dtype, device=tensor.device)
    return read_values(whole.set_(tensor.untyped_storage(), 0, (size,), (1,)))


def map_tensors(value: Any, change: Callable[[Any], Any]) -> Any:
    """A value with each tensor in its lists, tuples and dicts replaced."""
    if is_tensor(value):
        return change(value)
    if isinstance(value, dict):
        return {key: map_tensors(one, change) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_tensors(one, change) for one in value))
    if type(value) in (list, tuple):
        return type(value)(map_tensors(one, change) for one in value)
    return value


@dataclass(frozen=True)
class Argument:
    """A tensor among the arguments."""

    name: str
    """The parameter's, or its path: `weights[0]`."""
    tensor: Any
    dtype: str
    shape: tuple[int, ...]

    @property
    def varied(self) -> bool:
        """Whether its values are replaced by other data: integers are indices and lengths, and stay."""
        return formats.is_float(self.dtype)


def find_arguments(names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Argument]:
    """The tensors among arguments, each object once. `names` are those of positional parameters."""
    found: dict[int, Argument] = {}

    def visit(name: str, value: Any) -> None:
        if is_tensor(value):
            if id(value) not in found:
                shape = tuple(int(size) for size in value.shape)
                found[id(value)] = Argument(name, value, dtype_of(value), shape)
        elif isinstance(value, dict):
            for key, one in value.items():
                visit(f"{name}[{key!r}]", one)
        elif isinstance(value, (list, tuple)):
            for at, one in enumerate(value):
                visit(f"{name}[{at}]", one)

    for at, value in enumerate(args):
        visit(names[at] if at < len(names) else f"argument {at}", value)
    for name, value in kwargs.items():
        visit(name, value)
    return list(found.values())


class Copies:
    """Copies of tensors for one call of a launcher: with the strides, offsets and shared storages of the
    originals.

    A NumPy array becomes a tensor of torch's if this process has torch, and otherwise a stand-in.
    """

    def __init__(self) -> None:
        self._storages: dict[Any, Any] = {}
        self._tensors: dict[int, Any] = {}
        # Keys are addresses of objects, which must not be reused.
        self._held: list[Any] = []

    def copy(self, tensor: Any) -> Any:
        """The copy of a tensor: the same one each time."""
        made = self._tensors.get(id(tensor))
        if made is None:
            made = self._tensors[id(tensor)] = self._copy(tensor)
            self._held.append(tensor)
        return made

    def _storage(self, key: Any, copy: Callable[[], Any]) -> Any:
        if key not in self._storages:
            self._storages[key] = copy()
        return self._storages[key]

    def _copy(self, tensor: Any) -> Any:
        if isinstance(tensor, np.ndarray):
            return self._copy_array(tensor)
        if isinstance(tensor, StandIn):
            mine = tensor.untyped_storage()
            storage = self._storage(id(mine), mine.clone)
            strides: Any = tensor.stride()
            return StandIn(storage, tensor.dtype, tensor.shape, strides, tensor.storage_offset())
        torch = torch_of()
        detached = tensor.detach()
        if detached.layout is not torch.strided or detached.is_quantized or detached.is_complex():
            raise TypeError(f"a tensor of {detached.layout} and {detached.dtype} is not supported")
        mine = detached.untyped_storage()
        storage = self._storage(("torch", mine.data_ptr(), mine.nbytes()), mine.clone)
        made = torch.empty(0, dtype=detached.dtype, device=detached.device)
        made.set_(storage, detached.storage_offset(), detached.size(), detached.stride())
        return made

    def _copy_array(self, array: Array) -> Any:
        dtype, size = str(array.dtype), array.itemsize
        if dtype not in DTYPES:
            raise TypeError(f"an array of dtype {dtype} is not supported: use one of {', '.join(DTYPES)}")
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        start = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        steps = [stride // size for stride in array.strides]
        in_place = owner.flags.c_contiguous and start % size == 0 and owner.nbytes % size == 0
        if not in_place or any(stride < 0 or stride % size for stride in array.strides):
            # As it would be if it were passed to torch.
            owner, start = np.ascontiguousarray(array), 0
            steps = list(layout.contiguous_strides(array.shape))
        data = np.ascontiguousarray(owner).reshape(-1).view(np.uint8)
        torch = torch_of()
        if torch is None:
            storage = self._storage(id(owner), lambda: make_storage(data.copy()))
            made: Any = StandIn(storage, DTYPES[dtype], array.shape, steps, start // size)
        else:
            storage = self._storage(id(owner), lambda: torch.from_numpy(data.copy()).untyped_storage())
            made = torch.empty(0, dtype=getattr(torch, dtype))
            made.set_(storage, start // size, tuple(array.shape), tuple(steps))
        self._held.append(owner)
        return made


def write_values(tensor: Any, values: Array) -> None:
    """Fills a tensor with float64 values, rounded to its dtype.

    Elements that share memory (`expand`) get the values of the first of them.
    """
    strides = tensor.stride()
    first = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in strides)
    bits = formats.encode(np.ascontiguousarray(values[first]), dtype_of(tensor))
    target = tensor[first] if first else tensor
    if isinstance(tensor, StandIn):
        target._elements()[...] = bits
        return
    torch = torch_of()
    words = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[bits.itemsize]
    signed = {1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}[bits.itemsize]
    source = torch.from_numpy(bits.view(signed).reshape(-1).copy())
    assert source.dtype is words
    target.copy_(source.view(tensor.dtype).reshape(target.shape))


def make_reference_copy(original: Any, filled: Any) -> Any:
    """The reference function's copy of an argument: floats as float64, exactly; a tensor of torch's if the
    original was one, and otherwise a NumPy array. `filled` is the launcher's copy."""
    if not is_torch(original):
        return read_values(filled)
    torch = torch_of()
    if not original.is_floating_point():
        return filled.detach().clone()
    made = torch.from_numpy(read_values(filled)).to(filled.device)
    return made.requires_grad_(original.requires_grad)


class ArrayTensor:
    """A NumPy array as an argument of a kernel, for launchers that make their outputs with NumPy."""

    class _Storage:
        def __init__(self, owner: Array) -> None:
            self.owner = owner
            self.device = CPU

        def nbytes(self) -> int:
            return self.owner.nbytes

        def data_ptr(self) -> int:
            return int(self.owner.__array_interface__["data"][0])

    def __init__(self, array: Array) -> None:
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        self.array = array
        self.dtype = f"torch.{array.dtype}"
        self.shape = array.shape
        self.device = CPU
        self._held = self._Storage(owner)

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self.array.__array_interface__["data"][0])

    def untyped_storage(self) -> Any:
        """The array that owns the memory."""
        return self._held

    def size(self) -> tuple[int, ...]:
        """The shape."""
        return tuple(self.array.shape)

    def stride(self) -> tuple[int, ...]:
        """Strides in elements."""
        return tuple(stride // self.array.itemsize for stride in self.array.strides)

    def storage_offset(self) -> int:
        """The first element in the memory."""
        return (self.data_ptr() - self._held.data_ptr()) // self.array.itemsize

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.array.itemsize
