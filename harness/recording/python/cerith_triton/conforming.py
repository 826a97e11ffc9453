"""`conforms`: a launcher that is tested against a reference function, for each shape, dtype and kind of data.

The pytest plugin makes a test of each point. See `checking` for a comparison.
"""

from __future__ import annotations

import functools
import inspect
import math
import time
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Iterator, Mapping, Sequence, Union

import numpy as np

from . import arguments, checking, formats
from . import inputs as kinds
from .checking import Comparison, WrongResult
from .standin.dtypes import DTYPES
from .standin.host import tensor
from .trials import Subject

Shapes = Union[Sequence[int], Sequence[Sequence[int]], Mapping[str, Sequence[int]]]
"""The shapes of a point: one for every tensor, one for each, or by the names of parameters."""

Dtypes = Union[str, Mapping[str, str]]
"""The dtype of every tensor, or by the names of parameters."""

# Runs that go into a smaller shape for a failure.
_MAX_RUNS = 32


@dataclass(frozen=True)
class Point:
    """Shapes, dtypes and a kind of data: one test."""

    shapes: Mapping[str, tuple[int, ...]]
    """By the names of parameters."""
    dtypes: Mapping[str, str]
    data: str
    layouts: Mapping[str, str] = field(default_factory=dict)
    """By the names of parameters: `padded` and `transposed` tensors are not contiguous."""

    @property
    def id(self) -> str:
        """`shape=3x29-dtype=float16-data=integers`."""
        shapes = dict.fromkeys(_join(one) for one in self.shapes.values())
        dtypes = dict.fromkeys(self.dtypes.values())
        return f"shape={','.join(shapes)}-dtype={','.join(dtypes)}-data={self.data}"


class Conformance:
    """A launcher with the points at which it must agree with a reference function. Calling it calls the
    launcher.

    `points` has the points, `check(point)` compares at one, and `run()` at all.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        like: Callable[..., Any],
        points: Sequence[Point],
        kwargs: Mapping[str, Any],
        like_kwargs: Mapping[str, Any] | None,
        settings: Mapping[str, Any],
        seed: int | None,
    ) -> None:
        functools.update_wrapper(self, fn)
        self.fn = fn
        """The launcher."""
        self.like = like
        self.points = tuple(points)
        """The points, each a test."""
        self._kwargs = dict(kwargs)
        self._like_kwargs = self._kwargs if like_kwargs is None else dict(like_kwargs)
        self._settings = dict(settings)
        self._seed = seed

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<{self.fn.__name__} conforms at {len(self.points)} points>"

    def check(self, point: Point, raises: bool = True) -> Comparison:
        """Compares at a point. Raises `WrongResult` with the smallest shape that was found to fail."""
        __tracebackhide__ = True
        seed = checking.make_seed(self._seed)
        comparison = self._compare(point, [point.data], seed)
        if comparison.ok:
            return comparison
        _, smallest = self._shrink(point, comparison, seed)
        if raises:
            raise WrongResult(smallest)
        return smallest

    def run(self, raises: bool = True) -> list[Comparison]:
        """Compares at all points. Raises `WrongResult` at the first one that fails."""
        __tracebackhide__ = True
        return [self.check(point, raises) for point in self.points]

    def compare_all(self, seed: int, ended: float) -> Comparison:
        """Compares at the shapes of the first point, with the data of all points.

        A failure is reported with the smallest shapes and the plainest data that were found to fail. They
        are looked for until `ended`, on the monotonic clock.
        """
        __tracebackhide__ = True
        first = self.points[0]
        comparison = self._compare(first, [one.data for one in self.points], seed)
        failing = [trial for trial in comparison.trials if trial.fails]
        if not failing or comparison.verdict == "not judged":
            return comparison
        point = replace(first, data=failing[-1].data.kind)
        smallest, comparison = self._shrink(point, comparison, seed, ended)
        if time.monotonic() > ended:
            return comparison
        plain = self._compare(smallest, [point.data], seed, reduces=True)
        return plain if plain.verdict == comparison.verdict else comparison

    def _compare(self, point: Point, chosen: Sequence[str], seed: int, reduces: bool = False) -> Comparison:
        args = {
            name: make_argument(shape, point.dtypes[name], point.layouts.get(name, "dense"), seed + at)
            for at, (name, shape) in enumerate(point.shapes.items())
        }
        positional, named = split_arguments(self.fn, args)
        kwargs = {**named, **self._kwargs}
        same = self._like_kwargs is self._kwargs
        like_kwargs = kwargs if same else {**named, **self._like_kwargs}
        subject = Subject(self.fn, self.like, positional, kwargs, positional, like_kwargs, **self._settings)
        varied = list(chosen) if subject.varied else [kinds.GIVEN]
        options = checking.list_options(**self._settings)
        return checking.compare(subject, varied, seed, options, reduces)

    def _shrink(
        self, point: Point, comparison: Comparison, seed: int, ended: float = math.inf
    ) -> tuple[Point, Comparison]:
        """The smallest shapes that fail in the same way, and the comparison there. Equal sizes shrink
        together first: they may have to be equal."""
        runs = 0
        smaller = True
        while smaller and runs < _MAX_RUNS:
            smaller = False
            for candidate in _list_smaller(point):
                runs += 1
                if runs > _MAX_RUNS or time.monotonic() > ended:
                    return point, comparison
                try:
                    found = self._compare(candidate, [candidate.data], seed)
                except Exception:  # noqa: BLE001, S112 (the launcher refuses this shape)
                    continue
                if found.verdict == comparison.verdict:
                    point, comparison, smaller = candidate, found, True
                    break
        return point, comparison


def conforms(
    *,
    like: Callable[..., Any],
    shapes: Sequence[Shapes],
    dtypes: Sequence[Dtypes] = ("float32",),
    data: str | Sequence[str] = "all",
    kwargs: Mapping[str, Any] | None = None,
    like_kwargs: Mapping[str, Any] | None = None,
    seed: int | None = None,
    accumulate: str = "float32",
    tf32: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
) -> Callable[[Callable[..., Any]], Conformance]:
    """Decorates a launcher: pytest has a test for each shape, dtype and kind of data.

        @cerith_triton.conforms(like=torch.softmax, shapes=[(3, 29), (1, 1024)],
                                dtypes=["float32", "float16"], kwargs={"dim": 1})
        def my_softmax(x, dim): ...

    `like`: the reference function, as in `check`.

    `shapes`: each a shape of every required parameter that `kwargs` leaves (`(3, 29)`), a shape for each
    parameter in order (`[(64, 32), (32, 16)]`), or shapes by name (`{"x": (3, 29), "weight": (29,)}`).

    `dtypes`: each a name of every tensor's dtype (`"bfloat16"`), or names by parameter
    (`{"x": "float16", "index": "int64"}`; others are float32). Integers are from 0 to 7.

    `data`: `"all"`, or some of the kinds in `cerith_triton.inputs.KINDS`. `kwargs`: other arguments, of both
    functions; `like_kwargs`: of `like`, if they differ. For the rest, see `check`.

    A test that fails reports the smallest shape that fails. The launcher stays a function. Raises
    `ValueError` for unknown dtypes and data, and for shapes that do not belong to the parameters.
    """
    settings = {"accumulate": accumulate, "tf32": tf32, "rtol": rtol, "atol": atol}
    chosen = kinds.choose_kinds(data, given=False)

    def decorate(fn: Callable[..., Any]) -> Conformance:
        fixed = dict(kwargs or {})
        points = [
            Point(named, name_dtypes(fn, named, one), kind)
            for shape in shapes
            for named in [name_shapes(fn, shape, fixed)]
            for one in dtypes
            for kind in chosen
        ]
        return Conformance(fn, like, points, fixed, like_kwargs, settings, seed)

    return decorate


def name_shapes(fn: Any, shapes: Shapes, fixed: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shapes of a point by the names of parameters. Raises `ValueError` if they do not belong to them."""
    name = getattr(fn, "__name__", repr(fn))
    parameters = {
        one.name: one
        for one in inspect.signature(fn).parameters.values()
        if one.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        and one.name not in fixed
    }
    required = [one.name for one in parameters.values() if one.default is inspect.Parameter.empty]
    if isinstance(shapes, Mapping):
        named = {key: _shape(one) for key, one in shapes.items()}
    elif all(isinstance(one, int) for one in shapes):
        named = {key: _shape(shapes) for key in required}
    else:
        named = {key: _shape(one) for key, one in zip(parameters, shapes)}
        if len(named) != len(shapes):
            raise ValueError(f"{name} has {len(parameters)} parameters, and {len(shapes)} shapes: {shapes}")
    unknown = [key for key in named if key not in parameters]
    missing = [key for key in required if key not in named]
    if unknown:
        raise ValueError(f"{name} has no parameter `{unknown[0]}`, which has a shape")
    if missing:
        raise ValueError(f"the parameter `{missing[0]}` of {name} needs a shape, or a value in `kwargs`")
    return named


def _shape(sizes: Any) -> tuple[int, ...]:
    if not isinstance(sizes, (tuple, list)) or not all(isinstance(size, int) and size >= 0 for size in sizes):
        raise ValueError(f"{sizes!r} is not a shape: use a tuple of sizes")
    return tuple(sizes)


def name_dtypes(fn: Any, shapes: Mapping[str, Any], dtypes: Any) -> dict[str, str]:
    """The dtypes of a point by the names of parameters. Raises `ValueError` for unknown ones."""
    plain = not isinstance(dtypes, Mapping)
    named = {name: _dtype(dtypes if plain else dtypes.get(name, "float32")) for name in shapes}
    unknown = [] if plain else [name for name in dtypes if name not in shapes]
    if unknown:
        raise ValueError(f"{fn.__name__} has no tensor `{unknown[0]}`, which has a dtype")
    return named


def _dtype(dtype: Any) -> str:
    name = getattr(dtype, "__name__", str(dtype)).rpartition(".")[2]
    if name not in DTYPES:
        raise ValueError(f"there is no dtype `{name}`: use one of {', '.join(DTYPES)}")
    return name


def split_arguments(fn: Any, args: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments by position as far as that goes, as a reference function may name them otherwise."""
    positional: list[Any] = []
    named = dict(args)
    for one in inspect.signature(fn).parameters.values():
        if one.name not in named or one.kind is inspect.Parameter.KEYWORD_ONLY:
            break
        positional.append(named.pop(one.name))
    return positional, named


def make_argument(shape: tuple[int, ...], dtype: str, layout: str = "dense", seed: int = 0) -> Any:
    """A tensor. Data replaces its values if they are floats."""
    whole = shape
    if layout == "padded":
        whole = (*shape[:-1], shape[-1] + _PADDING)
    elif layout == "transposed":
        whole = shape[::-1]
    values = np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 8, whole)
    torch = arguments.torch_of()
    made: Any
    if torch is not None:
        made = torch.from_numpy(np.ascontiguousarray(values)).to(getattr(torch, dtype))
    else:
        made = tensor(values, dtype=dtype) if dtype not in _NUMPY else values.astype(dtype)
    if layout == "padded":
        return made[..., : shape[-1]]
    if layout == "transposed":
        axes = tuple(reversed(range(len(shape))))
        return made.transpose(axes) if isinstance(made, np.ndarray) else made.permute(axes)
    return made


# Elements between the rows of a padded tensor.
_PADDING = 5

_NUMPY = {name for name in DTYPES if not formats.is_float(name) or name in ("float16", "float32", "float64")}


def _list_smaller(point: Point) -> Iterator[Point]:
    """Points with a smaller size: wherever it occurs, as sizes may have to be equal, and in one place."""
    sizes = sorted({size for shape in point.shapes.values() for size in shape}, reverse=True)
    for size in sizes:
        for smaller in _list_sizes(size):
            shapes = {
                name: tuple(smaller if one == size else one for one in shape)
                for name, shape in point.shapes.items()
            }
            yield replace(point, shapes=shapes)
    for name, shape in point.shapes.items():
        for axis, size in enumerate(shape):
            for smaller in _list_sizes(size):
                changed = {**point.shapes, name: (*shape[:axis], smaller, *shape[axis + 1 :])}
                yield replace(point, shapes=changed)


def _list_sizes(size: int) -> list[int]:
    return [one for one in dict.fromkeys((1, 2, size // 4, size // 2, size - 1)) if 0 < one < size]


def _join(shape: tuple[int, ...]) -> str:
    return "x".join(str(size) for size in shape) or "scalar"
