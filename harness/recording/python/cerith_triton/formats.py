"""Floats of torch's dtypes as bits: decoded exactly to float64, and rounded from it.

NumPy has no bfloat16 and no 8-bit floats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]
else:
    # NumPy for Python 3.8 has no parameters of arrays.
    Array = np.ndarray


class Format(NamedTuple):
    """The layout of a float dtype."""

    size: int
    """Bytes."""
    fraction: int
    """Bits of the fraction."""
    bias: int
    """The bias of the exponent."""
    infinite: bool
    """Whether it has infinities."""

    @property
    def smallest(self) -> int:
        """The exponent of 2 of the smallest normal number."""
        return 1 - self.bias

    @property
    def largest(self) -> int:
        """The exponent of 2 of the largest numbers."""
        exponent_bits = self.size * 8 - 1 - self.fraction
        return (1 << exponent_bits) - 1 - self.bias - int(self.infinite)


FORMATS: dict[str, Format] = {
    "float64": Format(8, 52, 1023, True),
    "float32": Format(4, 23, 127, True),
    "float16": Format(2, 10, 15, True),
    "bfloat16": Format(2, 7, 127, True),
    "float8_e4m3fn": Format(1, 3, 7, False),
    "float8_e5m2": Format(1, 2, 15, True),
    "float8_e4m3fnuz": Format(1, 3, 8, False),
    "float8_e5m2fnuz": Format(1, 2, 16, False),
}
"""The float dtypes of tensors, by torch's names."""

_NUMPY = {"float64": np.float64, "float32": np.float32, "float16": np.float16}
_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def is_float(dtype: str) -> bool:
    """Whether a dtype is a float."""
    return dtype in FORMATS


def decode(bits: Array, dtype: str) -> Array:
    """The values of floats as float64, exactly.

    `bits` are unsigned integers of the size of `dtype`, in any shape.
    """
    native = _NUMPY.get(dtype)
    if native is not None:
        # A signalling NaN warns.
        with np.errstate(invalid="ignore"):
            return np.ascontiguousarray(bits).view(native).reshape(bits.shape).astype(np.float64)
    if dtype == "bfloat16":
        wide = np.ascontiguousarray(bits).astype(np.uint32) << np.uint32(16)
        with np.errstate(invalid="ignore"):
            return wide.view(np.float32).reshape(bits.shape).astype(np.float64)
    return _table(dtype)[bits]


def encode(values: Array, dtype: str) -> Array:
    """The bits of float64 values in a dtype, rounded to nearest with ties to even.

    A value that is too large becomes an infinity, or the largest number of a dtype without infinities.
    """
    native = _NUMPY.get(dtype)
    if native is not None:
        with np.errstate(over="ignore", under="ignore"):
            rounded = np.ascontiguousarray(values, np.float64).astype(native)
        return rounded.view(_BITS[rounded.itemsize]).reshape(values.shape)
    if dtype == "bfloat16":
        with np.errstate(over="ignore", under="ignore"):
            wide = np.ascontiguousarray(values, np.float64).astype(np.float32).view(np.uint32)
        half = np.uint32(0x7FFF) + ((wide >> np.uint32(16)) & np.uint32(1))
        found = ((wide + half) >> np.uint32(16)).astype(np.uint16)
        found[np.isnan(values).reshape(found.shape)] = 0x7FC0
        return found.reshape(values.shape)
    return _encode_byte(np.asarray(values, np.float64).reshape(-1), dtype).reshape(np.shape(values))


def round_to(values: Array, dtype: str) -> Array:
    """Float64 values rounded to those that a dtype can hold."""
    return decode(encode(values, dtype), dtype)


_tables: dict[str, Array] = {}


def _table(dtype: str) -> Array:
    """The values of the 256 numbers of an 8-bit float."""
    if dtype not in _tables:
        fraction, bias = FORMATS[dtype].fraction, FORMATS[dtype].bias
        infinite = FORMATS[dtype].infinite
        codes = np.arange(256)
        exponents = (codes & 0x7F) >> fraction
        fractions = (codes & ((1 << fraction) - 1)) / (1 << fraction)
        values = np.where(
            exponents == 0,
            np.ldexp(fractions, 1 - bias),
            np.ldexp(1 + fractions, exponents - bias),
        )
        values[codes >= 0x80] *= -1
        if infinite:
            highest = exponents == (1 << (7 - fraction)) - 1
            values[highest] = np.where(fractions[highest] == 0, np.copysign(np.inf, values[highest]), np.nan)
        elif dtype.endswith("fnuz"):
            # The code of a negative zero is its only NaN.
            values[0x80] = np.nan
        else:
            values[[0x7F, 0xFF]] = np.nan
        _tables[dtype] = values
    return _tables[dtype]


def _encode_byte(values: Array, dtype: str) -> Array:
    table = _table(dtype)
    positive = table[:0x80]
    count = int(np.isfinite(positive).sum())
    numbers = positive[:count]
    size = np.abs(values)
    # The number after the largest one, to which rounding would overflow.
    above = numbers[-1] + (numbers[-1] - numbers[-2])
    middles = np.append((numbers[:-1] + numbers[1:]) / 2, (numbers[-1] + above) / 2)
    codes = np.searchsorted(middles, size)
    tie = (codes < len(middles)) & (size == middles[np.minimum(codes, len(middles) - 1)])
    codes = np.where(tie & (codes % 2 == 1), codes + 1, codes)
    codes = np.minimum(codes, count if FORMATS[dtype].infinite else count - 1)
    found: Array = (codes + np.where(np.signbit(values), 0x80, 0)).astype(np.uint8)
    if dtype.endswith("fnuz"):
        found[codes == 0] = 0
    found[np.isnan(values)] = 0x80 if dtype.endswith("fnuz") else 0x7F
    return found
