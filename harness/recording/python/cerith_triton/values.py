"""Argument values in the format of part files: JSON's own, or a list of a letter and its contents.

A value's description comes with its layout: the description without things that do not change which
instructions run, the numbers of floats and addresses. Values without a form raise `Unsayable`.
"""

from __future__ import annotations

import enum
import struct
from typing import Any, Callable, Mapping, NamedTuple

from .failures import Unsayable
from .storages import Storages, looks_like_address, owner_of

# torch's names of the dtypes that `triton.reinterpret` gives.
_TORCH_NAMES = {
    "int1": "bool",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
    "fp8e5": "float8_e5m2",
    "fp8e4nv": "float8_e4m3fn",
    "fp8e4b8": "float8_e4m3fnuz",
    "fp8e5b16": "float8_e5m2fnuz",
}
# Names in `triton.language` of dtypes that are called otherwise.
_LANGUAGE_NAMES = {
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
    "fp8e5": "float8e5",
    "fp8e4nv": "float8e4nv",
    "fp8e4b8": "float8e4b8",
    "fp8e4b15": "float8e4b15",
    "fp8e5b16": "float8e5b16",
}
_POINTER_DTYPES = ("int64", "uint64")


def type_of(value: Any) -> str:
    """A value's type, as messages name it."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def is_dtype(value: Any) -> bool:
    """Whether a value is a dtype of Triton's."""
    kind = type(value)
    return kind.__name__ == "dtype" and kind.__module__.startswith("triton.")


def is_constexpr(value: Any) -> bool:
    """Whether a value is a `tl.constexpr`."""
    kind = type(value)
    return kind.__name__ == "constexpr" and kind.__module__.startswith("triton.")


def language_name(dtype: Any) -> str:
    """The name that a dtype of Triton's has in `triton.language`."""
    name = str(dtype.name)
    return _LANGUAGE_NAMES.get(name, name)


def bits_of(value: float) -> int:
    """A float's bits."""
    bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    return bits


class _Number(NamedTuple):
    """An integer that may be an address: its parameter, its description, and its position in the layout."""

    name: str
    value: int
    description: list[Any]
    slot: int


class Values:
    """Says the values of one launch and gathers its storages.

    `named` gives the name that the kernel's file has for a function or an enum's member.
    """

    __slots__ = ("layout", "named", "numbers", "storages")

    def __init__(self, named: Callable[[Any], str]) -> None:
        self.named = named
        self.storages = Storages()
        # The properties that distinguish launches.
        self.layout: list[Any] = []
        # Integers that may be addresses.
        self.numbers: list[_Number] = []

    def describe(self, name: str, value: Any) -> Any:
        """Describes the value of a parameter."""
        kind = type(value)
        if kind is int:
            said = ["i", str(value)]
            if looks_like_address(value):
                self.numbers.append(_Number(name, value, said, len(self.layout)))
            self.layout.append(value)
            return said
        if value is None or kind is bool or kind is str:
            self.layout.append((kind, value))
            return value
        if kind is float:
            self.layout.append(float)
            return ("f", bits_of(value))
        if hasattr(value, "data_ptr"):
            return self._tensor(name, value)
        if is_constexpr(value):
            # A number of a constexpr is compiled in.
            inner = value.value
            said = self.describe(name, inner)
            self.layout.append(("c", bits_of(inner) if type(inner) is float else None))
            return ("c", said)
        if is_dtype(value):
            text = language_name(value)
            if text.endswith("*") or "<" in text:
                raise Unsayable(f"`{name}` is a {value}, a type with no name")
            self.layout.append(("d", text))
            return ("d", text)
        return self._other(name, value)

    def _other(self, name: str, value: Any) -> Any:
        if isinstance(value, enum.Enum) and not isinstance(value, int):
            text = self.named(value)
            self.layout.append(("g", text))
            return ("g", text)
        if isinstance(value, int):
            return self.describe(name, int(value))
        if isinstance(value, float):
            return self.describe(name, float(value))
        if isinstance(value, str):
            return self.describe(name, str(value))
        if isinstance(value, (tuple, list)) or (
            type(value).__name__ == "tuple" and type(value).__module__.startswith("triton.")
        ):
            fields = getattr(type(value), "_fields", None)
            items = list(value)
            self.layout.append(("u", len(items), fields))
            if fields is None:
                return ("u", [self.describe(f"{name}_{at}", item) for at, item in enumerate(items)])
            said = [self.describe(f"{name}_{field}", item) for field, item in zip(fields, items)]
            return ("n", fields, said)
        if type(value).__name__ == "TensorDescriptor":
            return self._descriptor(name, value)
        if (
            type(value).__module__ == "numpy"
            and getattr(value, "shape", None) == ()
            and hasattr(value, "item")
        ):
            return self.describe(name, value.item())
        if callable(getattr(value, "fn", value)) and not isinstance(value, type):
            text = self.named(value)
            self.layout.append(("g", text))
            return ("g", text)
        raise Unsayable(f"`{name}` is a {type_of(value)}")

    def _tensor(self, name: str, value: Any) -> Any:
        wrapped = type(value).__name__ == "TensorWrapper"
        tensor = value.base if wrapped else value
        dtype = str(value.dtype)
        dtype = dtype[dtype.rfind(".") + 1 :]
        if wrapped and is_dtype(value.dtype):
            dtype = _TORCH_NAMES.get(dtype, dtype)
            if dtype == "fp8e4b15":
                raise Unsayable(f"`{name}` has the dtype {dtype}, which torch has not")
        storages = self.storages
        if hasattr(tensor, "untyped_storage") and hasattr(tensor, "storage_offset"):
            index = storages.index(tensor, name)
            shape = _integers(tensor.size() if hasattr(tensor, "size") else tensor.shape)
            strides = _integers(tensor.stride())
            offset = int(tensor.storage_offset())
        else:
            index, shape, strides, offset = self._pointer(name, tensor)
        storage = storages.all[index]
        if dtype in _POINTER_DTYPES:
            storage.pointers = True
        if getattr(tensor, "is_quantized", False):
            raise Unsayable(f"`{name}` is a quantised tensor")
        layout = (
            "t",
            index,
            dtype,
            shape,
            strides,
            offset,
            storage.size,
            storage.address % 16,
            storage.on_cpu,
        )
        self.layout.append(layout)
        return ("t", index, dtype, shape, strides, offset)

    def _pointer(self, name: str, value: Any) -> tuple[int, tuple[int, ...], tuple[int, ...], int]:
        """Storage, shape, strides and offset of an object that only has an address and a dtype, perhaps a
        shape and strides: a wrapper around a tensor."""
        address = int(value.data_ptr())
        owner = owner_of(value, address)
        if owner is None:
            raise Unsayable(f"`{name}` is a {type_of(value)} whose memory cannot be seen")
        index = self.storages.index(owner, name)
        storage = self.storages.all[index]
        size = int(getattr(value.dtype, "itemsize", 0) or owner.element_size())
        offset, rest = divmod(address - storage.address, size)
        if rest:
            raise Unsayable(f"`{name}` begins between two elements of its storage")
        shape = getattr(value, "shape", None)
        if shape is None:
            # All that it may point to.
            return index, (storage.size // size - offset,), (1,), offset
        shape = _integers(shape)
        stride = getattr(value, "stride", None)
        if stride is not None:
            return index, shape, _integers(stride() if callable(stride) else stride), offset
        strides = [1] * len(shape)
        for at in range(len(shape) - 1, 0, -1):
            strides[at - 1] = strides[at] * max(shape[at], 1)
        return index, shape, tuple(strides), offset

    def _descriptor(self, name: str, value: Any) -> Any:
        if hasattr(value, "layout"):
            raise Unsayable(f"`{name}` is a descriptor of Gluon's")
        base = self._tensor(name, value.base)
        padding = getattr(value, "padding", "zero")
        rounds = bool(getattr(value, "round_f32_to_tf32", False))
        said = (
            _integers(value.shape),
            _integers(value.strides),
            _integers(value.block_shape),
            (None if padding == "zero" else padding, rounds),
        )
        self.layout.append(("b", said))
        # Without its letter, as nothing else could be there.
        return ("b", base[1:], *said)

    def find_addresses(self) -> bool:
        """Says of the integers that are addresses in the storages so far what they are addresses of; whether
        some are left that may be addresses elsewhere."""
        left = []
        for number in self.numbers:
            place = self.storages.place(number.value)
            if place is None:
                left.append(number)
            else:
                number.description[:] = ("a", *place)
                self.layout[number.slot] = ("a", *place)
        self.numbers = left
        return bool(left)

    def find_live(self) -> None:
        """Like `find_addresses`, for the storages of live tensors that are not arguments, which are added."""
        if self.numbers and self.storages.add_live({one.value for one in self.numbers}, self.numbers[0].name):
            self.find_addresses()

    def describe_options(self, options: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """Describes launch options. An option that is None is omitted."""
        said = []
        for name, value in options.items():
            if value is not None:
                self.layout.append(name)
                said.append((name, self.describe(name, value)))
        return said


def _integers(values: Any) -> tuple[int, ...]:
    return tuple(int(value) for value in values)
