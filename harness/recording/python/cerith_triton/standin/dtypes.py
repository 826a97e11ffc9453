"""torch's dtypes, as far as Triton looks at them: it reads `str(dtype)` and takes the part after the last
dot."""

from __future__ import annotations


class dtype:  # noqa: N801 (Triton recognises torch's dtypes by the class name and its module)
    """A stand-in for `torch.dtype`."""

    __module__ = "torch"
    __slots__ = ("itemsize", "name")

    def __init__(self, name: str, itemsize: int) -> None:
        self.name = name
        self.itemsize = itemsize

    @property
    def is_floating_point(self) -> bool:
        return "float" in self.name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


_SIZES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2fnuz": 1,
}

DTYPES = {name: dtype(name, size) for name, size in _SIZES.items()}
