"""Sizes for a task: small ones that keep its relations, such as windows that fit, and others.

The relations are unknown. A change is kept if the reference function still runs with it.
"""

from __future__ import annotations

import itertools
import random
import time
from typing import Callable, Iterator, NamedTuple, Sequence

MAX_ELEMENTS, MAX_WORK = 1 << 16, 1 << 23
"""Elements and operations that sizes are reduced to."""
LIMIT_ELEMENTS, LIMIT_WORK = 1 << 20, 1 << 27
"""Elements and operations of the largest task that is judged."""
MAX_MEASURED, MAX_MEASURED_WORK = 1 << 21, 1 << 28
"""Elements of inputs that are run to measure their cost, and operations after which such a run ends."""

SMALL = 8
"""Smaller literals stay if possible: they are windows, strides, dimensions, numbers of groups and layers."""
# The largest literal that is more often a window or a number of groups than a batch.
_MAX_WINDOW = 3
_MAX_SECONDS = 12.0

PHASES = ((1 << 62, SMALL), (1 << 62, 1))
"""Steps of a reduction: values up to the first number are reduced as far as the second."""
KERNEL_PHASES = ((16, 1), (1 << 62, 64), (1 << 62, 16))
"""Steps for a function that launches kernels. Its blocks are unknown: batches are reduced before the rest."""

# Sizes in place of those of a test, which may be so small that one block has everything.
_GROWN = (20, 44, 26, 38, 14, 32)
_POWERS = (16, 32, 64, 128)

VARIANTS = ("small", "odd", "one", "strided", "long")
"""Sets of sizes, the plainest first. Later ones are random."""


class Cost(NamedTuple):
    """Elements of inputs, parameters and outputs, and operations of the reference function."""

    elements: int
    work: int

    @property
    def excess(self) -> float:
        """The factor by which it is too large; 1 or less if it is not."""
        return max(self.elements / MAX_ELEMENTS, self.work / MAX_WORK)

    @property
    def too_large(self) -> bool:
        """Whether no judge should run it."""
        return self.elements > LIMIT_ELEMENTS or self.work > LIMIT_WORK


def estimate_cost(elements: int) -> Cost:
    """A cost that is too large to be measured, and decreases with the elements of the inputs."""
    return Cost(elements, MAX_MEASURED_WORK + MAX_MEASURED_WORK * elements // MAX_MEASURED)


Measure = Callable[[Sequence[int]], Cost]
"""The cost with values. Raises any exception if the reference function does not run with them."""


class Search:
    """A search for values that the reference function runs with, in limited time."""

    def __init__(self, measure: Measure, original: Sequence[int]) -> None:
        self.original = tuple(original)
        self.error: Exception | None = None
        """The last exception of the reference function."""
        self._measure = measure
        self._known: dict[tuple[int, ...], Cost | None] = {}
        self._end = time.monotonic() + _MAX_SECONDS
        # The seed of random sizes. Two trials of a set have the same, so their launches can be compared.
        self._seed: int | None = None

    def find_cost(self, values: Sequence[int]) -> Cost | None:
        """The cost with values. `None` if the reference function does not run."""
        key = tuple(values)
        if key not in self._known:
            try:
                self._known[key] = self._measure(key)
            except Exception as error:  # noqa: BLE001 (a reference function may raise anything)
                self._known[key], self.error = None, error
        return self._known[key]

    def shrink(self, phases: Sequence[tuple[int, int]] = PHASES) -> list[int]:
        """The values reduced until their cost is small, or nothing can be reduced.

        Halving keeps as many powers of two as possible: a kernel may need a multiple of its block.
        """
        values = list(self.original)
        for highest, floor in phases:
            values = self._shrink_to(values, highest, floor)
        return values

    def _shrink_to(self, values: list[int], highest: int, floor: int, kept: int | None = None) -> list[int]:
        cost = self.find_cost(values)
        while (cost is None or cost.excess > 1) and time.monotonic() < self._end:
            for candidate in self._list_smaller(values, highest, floor, kept):
                found = self.find_cost(candidate)
                if found is not None and (cost is None or found.excess < cost.excess):
                    values, cost = candidate, found
                    break
                if time.monotonic() > self._end:
                    break
            else:
                break
        return values

    def _list_smaller(
        self, values: list[int], highest: int, floor: int, kept: int | None
    ) -> Iterator[list[int]]:
        """Values with one of them reduced, the largest first, then with several: they may have to agree."""
        chosen = (at for at, value in enumerate(values) if floor < value <= highest and at != kept)
        large = sorted(chosen, key=lambda at: -values[at])
        groups: list[tuple[int, ...]] = [(at,) for at in large]
        same = [tuple(at for at in large if values[at] == value) for value in {values[at] for at in large}]
        groups += [group for group in same if len(group) > 1]
        groups += itertools.combinations(large, 2)
        groups.append(tuple(large))
        for group in dict.fromkeys(groups):
            candidate = list(values)
            for at in group:
                candidate[at] = max(_reduce(values[at]), floor)
            yield candidate

    def vary(self, small: Sequence[int], number: int, seed: int, grows: bool = False) -> list[int]:
        """The values of a set: odd ones, one that is 1, or a long one; or random ones, which the first
        seed chooses.

        They equal `small` if the reference function runs with nothing else. With `grows`, small values are
        sizes too, and become larger.
        """
        kind = VARIANTS[number] if number < len(VARIANTS) else "random"
        if kind == "small":
            return list(small)
        if kind == "long":
            found = None if grows else self._find_long(small)
            if found is not None:
                return found
            kind = "random"
        wide = list(small)
        if grows:
            wide = [max(value, _GROWN[at % len(_GROWN)]) for at, value in enumerate(small)]
        if kind == "random":
            self._seed = seed if self._seed is None else self._seed
            source = random.Random(f"{self._seed} {number}")
            # A kernel of a test may have blocks of its sizes, which are powers of two.
            powers = [
                source.choice([one for one in _POWERS if one <= max(value, _POWERS[0])]) for value in wide
            ]
            chosen = powers if grows else [source.randint((value + 1) // 2, value) for value in wide]
        else:
            chosen = _make_odd(wide)
        values = self._replace(small, chosen, 1 if grows else SMALL)
        return self._set_one(values) if kind == "one" else values

    def _find_long(self, small: Sequence[int]) -> list[int] | None:
        """The values with the largest reduced one as it was, for kernels that are right only if it is small.
        Others are reduced further. `None` if the reference function doesn't run so."""
        reduced = [at for at, value in enumerate(small) if value < self.original[at]]
        for at in sorted(reduced, key=lambda at: -self.original[at]):
            values = [*small[:at], self.original[at], *small[at + 1 :]]
            for highest, floor in PHASES:
                values = self._shrink_to(values, highest, floor, kept=at)
            cost = self.find_cost(values)
            if cost is not None and cost.excess <= 1:
                return values
        return None

    def _replace(self, small: Sequence[int], chosen: Sequence[int], floor: int) -> list[int]:
        """The values above a floor replaced by those chosen, as far as the reference function runs."""
        values = list(small)
        every = [at for at, value in enumerate(small) if value > floor]
        candidate = [chosen[at] if at in every else value for at, value in enumerate(small)]
        if self._is_valid(candidate):
            return candidate
        for group in [(at,) for at in every] + self._list_equal(every):
            candidate = list(values)
            for at in group:
                # Sites with one original value may have to stay equal.
                candidate[at] = chosen[group[0]]
            if candidate != values and self._is_valid(candidate):
                values = candidate
            if time.monotonic() > self._end:
                break
        return values

    def _list_equal(self, sites: Sequence[int]) -> list[tuple[int, ...]]:
        values = dict.fromkeys(self.original[at] for at in sites)
        groups = [tuple(at for at in sites if self.original[at] == value) for value in values]
        return [group for group in groups if len(group) > 1]

    def _set_one(self, values: list[int]) -> list[int]:
        for at, value in enumerate(values):
            candidate = [*values[:at], 1, *values[at + 1 :]]
            if value > _MAX_WINDOW and self._is_valid(candidate):
                return candidate
        return values

    def _is_valid(self, values: Sequence[int]) -> bool:
        cost = self.find_cost(values)
        return cost is not None and not cost.too_large


def _reduce(value: int) -> int:
    """A value divided by its smallest factor of 2 or 3, or halved and rounded up."""
    if value % 2 == 0:
        return value // 2
    return value // 3 if value % 3 == 0 else (value + 1) // 2


def _make_odd(values: Sequence[int]) -> list[int]:
    """Odd values a little smaller, by different amounts: equal dimensions hide a wrong stride."""
    found = []
    for at, value in enumerate(values):
        less = value - 1 - 2 * (at % 3)
        found.append(less if less % 2 else less - 1)
    return [max(one, 1) for one in found]
