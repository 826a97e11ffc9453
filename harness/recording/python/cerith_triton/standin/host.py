"""Stand-ins for tensors with elements: arguments of launchers in a process without torch."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Callable, Iterator, Sequence

import numpy as np

from .. import formats
from ..formats import Array
from . import layout
from .dtypes import DTYPES, dtype
from .memory import CUDA, Session, UntypedStorage
from .tensor import Tensor, make_lacking

_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class _Memory(Session):
    """The memory of this process's stand-ins: one for all, so that no two share an address."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def next_device_address(self, size: int) -> int:
        with self._lock:
            return super().next_device_address(size)

    def add_copy(self, origin: UntypedStorage, copy: UntypedStorage, shift: int) -> None:
        """Copies have no guard zones to settle, and are not kept alive."""


_memory = _Memory()


# Called with each new stand-in that nothing wrote, while a launcher runs.
_note_empty: Callable[[Any], None] | None = None


@contextlib.contextmanager
def watch_empty(note_empty: Callable[[Any], None]) -> Iterator[None]:
    """A context in which a function is called with each new stand-in that nothing wrote."""
    global _note_empty
    before, _note_empty = _note_empty, note_empty
    try:
        yield
    finally:
        _note_empty = before


class StandIn(Tensor):
    """A tensor without torch: dtype, shape, strides, views, copies, new tensors of its kind, and elements as
    NumPy arrays. It has no arithmetic.

    Its device is a CUDA device without memory, so that `x.is_cuda` holds as in a program with a GPU.
    """

    __slots__ = ()

    def _fill(self, value: object, like: StandIn) -> StandIn:
        bits = _encode(np.full(tuple(like.shape), value), like.dtype.name)
        like._elements()[...] = bits
        return like

    def new_empty(self, size: int | Sequence[int], **options: Any) -> Tensor:
        """A tensor that nothing wrote, of this dtype unless `dtype` is given."""
        made = super().new_empty(size, **options)
        if _note_empty is not None:
            _note_empty(made)
        return made

    def new_zeros(self, size: int | Sequence[int], **options: Any) -> Tensor:
        """A tensor of zeros, of this dtype unless `dtype` is given."""
        return self.new_empty(size, **options).zero_()

    def new_full(self, size: int | Sequence[int], value: float, **options: Any) -> Tensor:
        """A tensor whose elements are `value`, of this dtype unless `dtype` is given."""
        made = self.new_empty(size, **options)
        assert isinstance(made, StandIn)
        return self._fill(value, made)

    def new_ones(self, size: int | Sequence[int], **options: Any) -> Tensor:
        """A tensor of ones, of this dtype unless `dtype` is given."""
        return self.new_full(size, 1, **options)

    def fill_(self, value: float) -> StandIn:
        """Sets every element to `value`."""
        self._check_writable()
        return self._fill(value, self)

    def numpy(self) -> Array:
        """The elements as a NumPy array of its own. Floats that NumPy has not become float64."""
        return _decode(self._elements(), self.dtype.name)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self.numpy().tolist()

    def item(self) -> Any:
        """The only element as a Python number. Raises `ValueError` if there are others."""
        return self.numpy().item()

    def reshape(self, *shape: Any) -> Tensor:
        """A view of another shape, or a copy if the elements are not in order."""
        return self.contiguous().view(*shape)

    def __array__(self, wanted: Any = None, copy: bool | None = None) -> Array:
        found = self.numpy()
        return found if wanted is None else found.astype(wanted)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        # A launcher written for NumPy makes its outputs with these.
        makers: dict[Any, Any] = {
            np.empty_like: lambda like, **_: like.new_empty(like.shape),
            np.zeros_like: lambda like, **_: like.new_zeros(like.shape),
            np.ones_like: lambda like, **_: like.new_full(like.shape, 1),
            np.full_like: lambda like, value, **_: like.new_full(like.shape, value),
        }
        make = makers.get(function)
        if make is None or kwargs.keys() - {"fill_value"} or not isinstance(args[0], StandIn):
            raise make_lacking(f"numpy.{function.__name__}")
        return make(*args, *kwargs.values())


def _encode(values: Array, name: str) -> Array:
    if formats.is_float(name):
        return formats.encode(values.astype(np.float64), name)
    native = values.astype(np.dtype(name))
    return native.view(_WORDS[native.itemsize])


def _decode(bits: Array, name: str) -> Array:
    if formats.is_float(name):
        values = formats.decode(np.ascontiguousarray(bits), name)
        return values.astype(name) if hasattr(np, name) else values
    return np.ascontiguousarray(bits).view(np.dtype(name)).reshape(bits.shape).copy()


def tensor(
    values: object, *, shape: Sequence[int] | None = None, dtype: str | dtype | None = None
) -> StandIn:
    """A contiguous stand-in with these elements, for launchers in a process without torch.

    `values`: a NumPy array, nested lists of numbers, or with `shape` a dict of elements by their indices;
    others are 0. `dtype`: torch's name (`"bfloat16"`); by default the array's own. Raises `TypeError` for a
    dtype that tensors have not.
    """
    if isinstance(values, dict):
        array = np.zeros(tuple(shape or ()))
        for index, value in values.items():
            array[index] = value
    else:
        array = np.asarray(values)
        if shape is not None and array.shape != tuple(shape):
            raise TypeError(f"the values have the shape {list(array.shape)}, and not {list(shape)}")
    name = str(array.dtype) if dtype is None else getattr(dtype, "name", str(dtype)).rpartition(".")[2]
    if name not in DTYPES:
        raise TypeError(f"a tensor has no dtype `{name}`: use one of {', '.join(DTYPES)}")
    made = make_empty(array.shape, name)
    made._elements()[...] = _encode(array, name)
    return made


def make_empty(shape: Sequence[int], name: str) -> StandIn:
    """A contiguous stand-in of zeros."""
    sizes = tuple(int(size) for size in shape)
    kind = DTYPES[name]
    storage = make_storage(np.zeros(layout.numel(sizes) * kind.itemsize, np.uint8))
    return StandIn(storage, kind, sizes, layout.contiguous_strides(sizes), 0)


def make_storage(data: Array) -> UntypedStorage:
    """A storage of its own with these bytes."""
    return UntypedStorage(_memory, CUDA, data, 0, 0)
