"""A stand-in for `torch.Tensor`: it has what Triton's interpreter, in all of 2.3 to 3.9, and its autotuner
use."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from . import layout
from .dtypes import DTYPES, dtype
from .memory import Device, Session, UntypedStorage, device_of


class Lacking(AttributeError, TypeError):  # noqa: N818 (it is named in messages)
    """Torch's tensors have what this stand-in has not."""


def make_lacking(name: str) -> Lacking:
    return Lacking(
        f"`{name}` of a tensor: a host function gets stand-ins for tensors, which have dtype, shape, "
        "strides, device, copies and views, and no elements to compute with"
    )


_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class Tensor:
    """A view of a storage; strides and offset in elements."""

    # As messages name it.
    __module__ = "torch"
    __slots__ = ("_offset", "_storage", "_strides", "dtype", "shape")

    requires_grad = False

    def __init__(
        self,
        storage: UntypedStorage,
        kind: dtype,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
    ) -> None:
        self.dtype = kind
        self.set_(storage, offset, shape, strides)

    def set_(
        self,
        storage: UntypedStorage,
        storage_offset: int = 0,
        size: Sequence[int] = (),
        stride: Sequence[int] = (),
    ) -> Tensor:
        if len(size) != len(stride) or any(number < 0 for number in (storage_offset, *size, *stride)):
            raise RuntimeError(
                f"no tensor has size {tuple(size)}, stride {tuple(stride)}, offset {storage_offset}"
            )
        if layout.numel(size):
            last = storage_offset + sum((length - 1) * step for length, step in zip(size, stride))
            needed = (last + 1) * self.dtype.itemsize
            if needed > storage.nbytes():
                raise RuntimeError(
                    f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset "
                    f"{storage_offset}, and itemsize {self.dtype.itemsize} requiring a storage size of "
                    f"{needed} are out of bounds for storage of size {storage.nbytes()}"
                )
        self._storage = storage
        self._offset = storage_offset
        self.shape = tuple(size)
        self._strides = tuple(stride)
        return self

    def _new(self, storage: UntypedStorage, strides: Sequence[int], offset: int = 0) -> Tensor:
        return type(self)(storage, self.dtype, self.shape, strides, offset)

    def _place(self) -> tuple[object, ...]:
        """Where the elements are."""
        return id(self._storage), self._offset, self.shape, self._strides

    def _elements(self) -> np.ndarray[Any, Any]:
        """The elements as unsigned numbers of their size, in place."""
        word = self.dtype.itemsize
        return np.ndarray(
            self.shape,
            _WORDS[word],
            self._storage.bytes,
            # NumPy wants an offset inside the buffer even where there is nothing to see.
            self._storage.front + self._offset * word if self.numel() else 0,
            tuple(stride * word for stride in self._strides),
        )

    def __repr__(self) -> str:
        # Without the elements, as torch shows a tensor that has none at hand.
        return f"tensor(..., device='{self.device}', size={self.shape}, dtype={self.dtype})"

    # The tensor's identity.

    @property
    def device(self) -> Device:
        return self._storage.device

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        return self.device.type == "cpu"

    def get_device(self) -> int:
        return -1 if self.device.index is None else self.device.index

    @property
    def data(self) -> Tensor:
        return self._new(self._storage, self._strides, self._offset)

    def detach(self) -> Tensor:
        return self.data

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def dim(self) -> int:
        return len(self.shape)

    def __getattr__(self, name: str) -> Any:
        # Protocols are asked for by many, and torch's tensors have few of them.
        if name.startswith("__"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        raise make_lacking(name)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def numel(self) -> int:
        return layout.numel(self.shape)

    nelement = numel

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.numel() * self.dtype.itemsize

    def element_size(self) -> int:
        return self.dtype.itemsize

    def size(self, dim: int | None = None) -> tuple[int, ...] | int:
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim: int | None = None) -> tuple[int, ...] | int:
        return self._strides if dim is None else self._strides[dim]

    def storage_offset(self) -> int:
        return self._offset

    def untyped_storage(self) -> UntypedStorage:
        return self._storage

    def data_ptr(self) -> int:
        # torch gives no address for a tensor of no elements.
        return self._storage.address + self._offset * self.dtype.itemsize if self.numel() else 0

    # Views.

    def _view(self, shape: Sequence[int], strides: Sequence[int], offset: int | None = None) -> Tensor:
        at = self._offset if offset is None else offset
        return type(self)(self._storage, self.dtype, shape, strides, at)

    def __getitem__(self, key: object) -> Tensor:
        parts = layout.spelled_out(key if isinstance(key, tuple) else (key,), self.ndim)
        if parts is None:
            raise make_lacking("indexing other than by int, slice, None and `...`")
        return self._view(*layout.index_view(parts, self.shape, self._strides, self._offset))

    def select(self, dim: int, index: int) -> Tensor:
        return self[layout.index_dimension(dim, self.ndim, index)]

    def narrow(self, dim: int, start: int, length: int) -> Tensor:
        return self[layout.index_dimension(dim, self.ndim, slice(start, start + length))]

    def permute(self, *dims: Any) -> Tensor:
        order = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
        if sorted(dim % self.ndim for dim in order) != list(range(self.ndim)):
            raise RuntimeError(f"permute(dims): {tuple(order)} is not an order of {self.ndim} dimensions")
        return self._view([self.shape[dim] for dim in order], [self._strides[dim] for dim in order])

    def transpose(self, first: int, second: int) -> Tensor:
        order = list(range(self.ndim))
        order[first], order[second] = order[second], order[first]
        return self.permute(order)

    def t(self) -> Tensor:
        return self.permute(*reversed(range(self.ndim)))

    T = property(t)
    mT = property(lambda self: self.transpose(-2, -1))  # noqa: N815 (torch's name)

    def unsqueeze(self, dim: int) -> Tensor:
        at = dim % (self.ndim + 1)
        return self[(slice(None),) * at + (None,)]

    def view(self, *shape: Any) -> Tensor:
        sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
        if not all(isinstance(size, int) for size in sizes) or not self.is_contiguous():
            raise make_lacking("view of another dtype, or of elements that are not in order")
        if -1 in sizes:
            rest = layout.numel([size for size in sizes if size != -1])
            sizes = tuple(self.numel() // max(rest, 1) if size == -1 else size for size in sizes)
        if layout.numel(sizes) != self.numel():
            raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {self.numel()}")
        strides = self._strides if sizes == self.shape else layout.contiguous_strides(sizes)
        return self._view(sizes, strides)

    def is_contiguous(self) -> bool:
        return layout.is_contiguous(self.shape, self._strides)

    # Making others.

    def new_empty(
        self,
        size: int | Sequence[int],
        *,
        dtype: dtype | None = None,
        device: object = None,
    ) -> Tensor:
        sizes = (size,) if isinstance(size, int) else tuple(size)
        kind = dtype or self.dtype
        where = self.device if device is None else device_of(device)
        data = np.zeros(layout.numel(sizes) * kind.itemsize, dtype=np.uint8)
        storage = UntypedStorage(self._storage.session, where, data, 0, 0)
        return type(self)(storage, kind, sizes, layout.contiguous_strides(sizes), 0)

    def _starts(self) -> np.ndarray[Any, Any]:
        """The first byte of each element in the storage."""
        starts = np.full(tuple(self.shape), self._offset, dtype=np.int64)
        for axis, (extent, stride) in enumerate(zip(self.shape, self._strides)):
            shape = [1] * len(self.shape)
            shape[axis] = extent
            starts += (np.arange(extent, dtype=np.int64) * stride).reshape(shape)
        return starts.reshape(-1) * self.dtype.itemsize

    def _copy(self, device: Device, strides: Sequence[int]) -> Tensor:
        """A copy in a storage of its own, between guard zones like those around this one."""
        mine = self._storage
        data = np.concatenate(
            (
                mine.bytes[: mine.front],
                np.zeros(self.nbytes, dtype=np.uint8),
                mine.bytes[len(mine.bytes) - mine.back :],
            )
        )
        storage = UntypedStorage(mine.session, device, data, mine.front, mine.back)
        copy = self._new(storage, strides)
        copy._elements()[...] = self._elements()
        if device.type == "cpu":
            mine.session.add_copy(mine, storage, self._offset * self.dtype.itemsize)
        return copy

    def to(self, device: object, non_blocking: bool = False, copy: bool = False) -> Tensor:
        where = device_of(device)
        if where == self.device and not copy:
            return self
        return self._copy(where, layout.copy_strides(self.shape, self._strides))

    def cpu(self) -> Tensor:
        return self.to("cpu")

    def cuda(self) -> Tensor:
        return self.to("cuda")

    def clone(self) -> Tensor:
        return self.to(self.device, copy=True)

    def contiguous(self) -> Tensor:
        if self.is_contiguous():
            return self
        return self._copy(self.device, layout.contiguous_strides(self.shape))

    # Writing.

    def _check_writable(self) -> None:
        if layout.overlaps_itself(self.shape, self._strides):
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a single "
                "memory location. Please clone() the tensor before performing the operation."
            )

    def copy_(self, source: Tensor, non_blocking: bool = False) -> Tensor:
        if source.dtype is not self.dtype:
            raise NotImplementedError(f"copy_ from {source.dtype} to {self.dtype}")
        if self._place() == source._place():
            # torch sees that it is the same data before it looks whether it may be written to.
            return self
        self._check_writable()
        self._storage.session.note_copy(self._storage)
        self._elements()[...] = source._elements()
        return self

    def zero_(self) -> Tensor:
        self._check_writable()
        session = self._storage.session
        index = session.index_of(self._storage) if session.host_writes is not None else None
        if session.host_writes is not None and index is not None:
            session.host_writes.note_cleared(index, self._starts(), self.dtype.itemsize)
        self._elements()[...] = 0
        return self


def tensor_of(session: Session, spec: Sequence[Any]) -> Tensor:
    """The tensor that a request describes: storage, dtype, shape, strides, offset."""
    storage, kind, shape, strides, offset = spec
    return Tensor(session.storages[storage], DTYPES[kind], shape, strides, offset)


def _refuse(name: str) -> None:
    def refuse(self: Tensor, *_: object) -> Any:
        raise make_lacking(name)

    setattr(Tensor, name, refuse)


def _refuse_operator(name: str) -> None:
    def refuse(self: Tensor, other: object, *_: object) -> Any:
        # Torch leaves operands that it does not know to the other class.
        if type(other).__module__.partition(".")[0] == "triton":
            return NotImplemented
        raise make_lacking(name)

    setattr(Tensor, name, refuse)


# Python looks for them in the class alone. Triton uses `==`, truth and hashes: they are those of any object.
for _operation in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"):
    for _side in ("", "r", "i"):
        _refuse_operator(f"__{_side}{_operation}__")
for _operation in ("lt", "le", "gt", "ge"):
    _refuse_operator(f"__{_operation}__")
for _operation in ("neg", "abs", "invert", "setitem", "iter", "float", "int", "index"):
    _refuse(f"__{_operation}__")
# Triton's values have a `type` that is not a method. Code that expects one of them reads its attributes.
_refuse("type")
