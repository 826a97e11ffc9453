"""Kinds of data that find bugs. Each says its purpose: random data saturates, and hides errors.

Every function returns float64 values; `fill` rounds them to a dtype. They depend on a seed only.
"""

from __future__ import annotations

import math
from typing import Callable, NamedTuple, Sequence

import numpy as np

from . import formats
from .formats import FORMATS, Array

Shape = Sequence[int]
Generator = np.random.Generator


def _signs(shape: Shape, random: Generator) -> Array:
    return random.integers(0, 2, tuple(shape)) * 2.0 - 1


def make_zeros(shape: Shape, dtype: str, random: Generator) -> Array:
    """All zeros: a division by zero and a missing epsilon show."""
    return np.zeros(shape)


def make_one_hot(shape: Shape, dtype: str, random: Generator) -> Array:
    """A single 1 in each row, otherwise 0: a wrong stride, mask or lane shows, and its position."""
    values = np.zeros(shape)
    if values.ndim == 0:
        values[...] = 1
    elif values.size:
        rows = values.reshape(-1, shape[-1])
        rows[np.arange(len(rows)), random.integers(0, shape[-1], len(rows))] = 1
    return values


def make_integers(shape: Shape, dtype: str, random: Generator) -> Array:
    """Small integers from -4 to 4: sums are exact in any order, so that one wrong lane shows."""
    return random.integers(-4, 5, shape).astype(np.float64)


def make_ties(shape: Shape, dtype: str, random: Generator) -> Array:
    """Three values, each many times: an unstable order and a wrong index of equal elements show."""
    return np.array([-1.0, 0.5, 2.0])[random.integers(0, 3, tuple(shape))]


def make_distinct(shape: Shape, dtype: str, random: Generator) -> Array:
    """Distinct values from -2 to 2: an element that is read in place of another shows."""
    count = math.prod(shape)
    step = 4 / (1 << max(count, 2).bit_length())
    return ((random.permutation(count) + 0.5) * step - 2).reshape(shape)


def make_normal(shape: Shape, dtype: str, random: Generator) -> Array:
    """Normally distributed values: ordinary data that no kernel has seen."""
    return random.standard_normal(shape)


def make_tiny(shape: Shape, dtype: str, random: Generator) -> Array:
    """Tiny magnitudes: underflow, and an epsilon that is missing or misplaced, show."""
    low = FORMATS[dtype].smallest
    exponents = random.uniform(max(low, -48), max(low, -48) / 2, shape)
    return _signs(shape, random) * 2.0**exponents


def make_large(shape: Shape, dtype: str, random: Generator) -> Array:
    """Large magnitudes: overflow, a missing subtraction of the maximum, and early saturation show."""
    high = min(FORMATS[dtype].largest - 2, 8 if dtype == "float16" else 10)
    exponents = random.uniform(high / 5, high, shape)
    return _signs(shape, random) * 2.0**exponents


def make_cancelling(shape: Shape, dtype: str, random: Generator) -> Array:
    """Rows of a common value and small differences: sums of squares and narrow sums that cancel show."""
    values = random.standard_normal(shape)
    if values.ndim == 0:
        return values
    common = 8.0 * _signs((*shape[:-1], 1), random)
    return common + values / 16


def make_non_finite(shape: Shape, dtype: str, random: Generator) -> Array:
    """A NaN or an infinity in every second row: a value that is dropped or reaches other rows shows."""
    values = random.standard_normal(shape)
    if values.ndim and values.size:
        specials = [np.nan, np.inf, -np.inf] if FORMATS[dtype].infinite else [np.nan]
        rows = values.reshape(-1, shape[-1])
        for row in range(int(random.integers(0, 2)) if len(rows) > 1 else 0, len(rows), 2):
            rows[row, random.integers(0, shape[-1])] = specials[int(random.integers(0, len(specials)))]
    return values


def make_huge(shape: Shape, dtype: str, random: Generator) -> Array:
    """Huge magnitudes, up to 2**30: a value that is right for common numbers only shows."""
    high = min(FORMATS[dtype].largest - 2, 30)
    return _signs(shape, random) * 2.0 ** random.uniform(min(11, high - 4), high, shape)


KINDS: dict[str, Callable[[Shape, str, Generator], Array]] = {
    "zeros": make_zeros,
    "one-hot": make_one_hot,
    "integers": make_integers,
    "ties": make_ties,
    "distinct": make_distinct,
    "normal": make_normal,
    "tiny": make_tiny,
    "large": make_large,
    "cancelling": make_cancelling,
    "non-finite": make_non_finite,
}
"""The kinds by name, the plainest first."""

KINDS_OF_TASKS: dict[str, Callable[[Shape, str, Generator], Array]] = {**KINDS, "huge": make_huge}
"""The kinds of a judge, which finds out with which data the precision of a task suffices."""

GIVEN = "given"
"""The data of the caller's own arguments."""


class Data(NamedTuple):
    """A kind of data and the seed that makes it."""

    kind: str
    seed: int

    @property
    def purpose(self) -> str:
        """Its purpose, in a line."""
        if self.kind == GIVEN:
            return "the values of the arguments as they were given"
        purpose = (KINDS_OF_TASKS[self.kind].__doc__ or "").strip().rstrip(".")
        return purpose[:1].lower() + purpose[1:] if not purpose[1:2].isupper() else purpose


def choose_kinds(data: str | Sequence[str], given: bool) -> list[str]:
    """The names of kinds that `data` means, in order. `given`: whether there are arguments to begin with.

    Raises `ValueError` for an unknown name, with those that there are.
    """
    known = [GIVEN, *KINDS] if given else list(KINDS)
    if data == "all":
        return known
    chosen = [data] if isinstance(data, str) else list(data)
    for name in chosen:
        if name not in known:
            raise ValueError(f'there is no data `{name}`: use "all", or some of {", ".join(known)}')
    if not chosen:
        raise ValueError(f'no data to check with: use "all", or some of {", ".join(known)}')
    return chosen


def fill(data: Data, position: int, shape: Shape, dtype: str) -> Array:
    """Values for a tensor that is the argument at `position`: float64, and exact in its dtype."""
    names = list(KINDS_OF_TASKS)
    random = np.random.default_rng([data.seed, names.index(data.kind), position])
    return formats.round_to(KINDS_OF_TASKS[data.kind](tuple(shape), dtype, random), dtype)
