"""Outputs of a launcher, and the results of its reference function that belong to them."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Sequence

import numpy as np

from . import formats
from .arguments import dtype_of, is_tensor, read_values
from .formats import Array


class Results(NamedTuple):
    """The values that a function returned."""

    names: list[str]
    values: list[Any]
    named: bool
    """Whether the function named them: a dict, a named tuple, a dataclass."""


def flatten(result: Any) -> Results:
    """The values that a function returned, without those that are None.

    A tuple, dict, named tuple or dataclass has several; a list has several if it holds tensors.
    """
    if result is None:
        return Results([], [], False)
    if isinstance(result, dict):
        pairs = [(str(name), value) for name, value in result.items()]
    elif isinstance(result, tuple) and hasattr(result, "_fields"):
        pairs = list(zip(result._fields, result))
    elif dataclasses.is_dataclass(result) and not isinstance(result, type):
        pairs = [(field.name, getattr(result, field.name)) for field in dataclasses.fields(result)]
    else:
        several = isinstance(result, tuple) or (
            isinstance(result, list) and any(is_tensor(one) or isinstance(one, tuple) for one in result)
        )
        values = list(result) if several else [result]
        kept = [(f"output {at}", value) for at, value in enumerate(values) if value is not None]
        return Results([name for name, _ in kept], [value for _, value in kept], False)
    pairs = [(name, value) for name, value in pairs if value is not None]
    return Results([name for name, _ in pairs], [value for _, value in pairs], True)


def read_result(value: Any) -> Array:
    """A value of a reference function as an array of floats, integers or bools.

    Raises `TypeError` if it is not made of numbers.
    """
    if is_tensor(value):
        return read_values(value)
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise TypeError(
            f"the reference function returned {_describe(value)}, which is not an array of numbers"
        )
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def convert_expected(values: Array, dtype: str) -> Array | None:
    """Expected values as float64 for an output that holds floats, and otherwise as int64.

    `None` if an output of integers is to hold fractions.
    """
    if formats.is_float(dtype):
        return values.astype(np.float64)
    if values.dtype.kind == "f":
        if not np.isfinite(values).all() or (values != np.trunc(values)).any():
            return None
        if values.size and np.abs(values).max() >= 2.0**63:
            return None
    return values.astype(np.int64)


def fit_shape(values: Array, shape: Sequence[int]) -> Array | None:
    """Expected values in an output's shape, which may have more or fewer dimensions of one element.

    `None` if the shapes differ otherwise.
    """
    if [size for size in values.shape if size != 1] != [size for size in shape if size != 1]:
        return None
    return values.reshape(tuple(shape))


def match_results(
    outputs: Results, expected: Results, launcher: str, reference: str
) -> list[tuple[str, Any, Any]]:
    """Name, output and expected value of each output. The expected value is `None` if the reference function,
    which names its results, has none.

    Raises `ValueError` if the reference function returns other results than the launcher.
    """
    if expected.named and (outputs.named or set(expected.names) <= set(outputs.names)):
        missing = [name for name in expected.names if name not in outputs.names]
        if missing:
            raise ValueError(
                f"{reference} returns `{missing[0]}`, which {launcher} does not: its outputs are "
                f"{', '.join(outputs.names) or 'none'}"
            )
        results = dict(zip(expected.names, expected.values))
        return [(name, value, results.get(name)) for name, value in zip(outputs.names, outputs.values)]
    if len(outputs.names) != len(expected.names):
        raise ValueError(
            f"{launcher} has {_count(outputs)}, and {reference} returns {_count(expected)}: have it return a "
            "value for each output in order, or a dict by name"
        )
    return list(zip(outputs.names, outputs.values, expected.values))


def find_outside(values: Array, expected: Array, rtol: float, atol: float) -> Array:
    """The elements that differ by more than `atol + rtol * abs(expected)`. A NaN equals a NaN."""
    with np.errstate(all="ignore"):
        close = np.abs(values - expected) <= atol + rtol * np.abs(expected)
    found: Array = ~(close | (values == expected) | (np.isnan(values) & np.isnan(expected)))
    return found


def find_largest_ulps(values: Array, expected: Array, dtype: str) -> float | None:
    """The largest difference of finite elements, in units of the last place of the expected one.

    `None` if there are none, or `dtype` is not a float.
    """
    numbers = np.isfinite(values) & np.isfinite(expected)
    if not formats.is_float(dtype) or not numbers.any():
        return None
    form = formats.FORMATS[dtype]
    exponents = np.frexp(expected[numbers])[1] - 1
    units = np.ldexp(1.0, np.maximum(exponents, form.smallest) - form.fraction)
    return float((np.abs(values[numbers] - expected[numbers]) / units).max())


def _count(results: Results) -> str:
    count = len(results.names)
    listed = f" ({', '.join(results.names)})" if count else ""
    return f"{count} {'output' if count == 1 else 'outputs'}{listed}"


def _describe(value: Any) -> str:
    return f"a {type(value).__qualname__}" if not is_tensor(value) else f"a tensor of {dtype_of(value)}"
