"""Cerith's own form: a function `reference`, and a function `arguments` or lists of shapes.

    import numpy as np

    def reference(x, weight): ...

    shapes = [{"x": (3, 29), "weight": (29,)}, {"x": (1, 64), "weight": (64,)}]

`dtypes` (see `cerith_triton.conforms`), `kwargs`, `entry` (the submission's function; by default the
file's name), `accumulate` and `tf32` are optional. `arguments()` returns a list of arguments, a dict of them,
or both as a pair; it may take `random`, a NumPy generator.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Mapping, Sequence

import numpy as np

from .. import arguments, conforming
from ..inputs import Data
from . import sizing, trial
from .literals import TaskModule
from .metering import count_elements
from .sizing import Cost, Search
from .trial import Inputs, Outputs, TaskError, TrialSkipped

# Elements of arguments that are tried while sizes are reduced.
_MAX_REAL = 1 << 22


class FunctionTask:
    """A task in Cerith's own form."""

    form = "function"

    def __init__(self, path: Path, source: str) -> None:
        self.name = path.stem
        self._module = TaskModule(path, source, ("arguments",))
        with trial.run_task_code():
            self._namespace = self._module.execute(self._module.values)
        if not callable(self._namespace.get("reference")):
            raise TaskError("the task has no function `reference`")
        self.entry = str(self._namespace.get("entry", path.stem))
        self._points = self._list_points()
        self._search = Search(self._measure, self._module.values)
        self._small: list[int] | None = None
        self._checked = False

    @property
    def contract(self) -> dict[str, Any]:
        """The precision that a submission must have."""
        accumulate = str(self._namespace.get("accumulate", "float32"))
        return {"accumulate": accumulate, "tf32": bool(self._namespace.get("tf32", True))}

    def make(self, chosen: Data, sizes: int) -> tuple[Inputs, Outputs]:
        """The inputs and outputs of a trial. Raises `TrialSkipped` and `TaskError`."""
        if self._points:
            inputs, strided = self._make_point(sizes, chosen.seed)
        else:
            inputs, strided = self._make_arguments(sizes, chosen.seed)

        def finish(domain: str) -> tuple[Inputs, Outputs]:
            filled = trial.fill_arguments(inputs, chosen, strided, domain)
            return filled, trial.compute_expected(self._call, filled, chosen.kind)

        filled, expected = trial.try_domains(chosen, finish)
        if not self._checked:
            trial.check_repeatable(self._call, filled, expected)
            self._checked = True
        return filled, expected

    def _call(self, inputs: Inputs, exact: bool) -> Any:
        return self._namespace["reference"](*inputs.args, **inputs.kwargs)

    # Shapes.

    def _list_points(self) -> list[tuple[Mapping[str, tuple[int, ...]], Mapping[str, str]]]:
        if "shapes" not in self._namespace:
            if "arguments" not in self._namespace:
                raise TaskError("the task has neither `arguments` nor `shapes`")
            return []
        reference, fixed = self._namespace["reference"], self._fixed
        dtypes = self._namespace.get("dtypes", ["float32"])
        if isinstance(dtypes, (str, Mapping)):
            dtypes = [dtypes]
        try:
            named = [conforming.name_shapes(reference, one, fixed) for one in self._namespace["shapes"]]
            # The dtypes vary fastest: the first shape is the plainest.
            return [(one, conforming.name_dtypes(reference, one, dtype)) for one in named for dtype in dtypes]
        except (TypeError, ValueError) as error:
            raise TaskError(f"`shapes` and `dtypes` do not fit `reference`: {error}") from error

    @property
    def _fixed(self) -> dict[str, Any]:
        return dict(self._namespace.get("kwargs", {}))

    def _make_point(self, sizes: int, seed: int) -> tuple[Inputs, bool]:
        count = len(self._points)
        if sizes > count:
            raise TrialSkipped(f"the task has {count} sets of sizes, and one that is not contiguous")
        shapes, dtypes = self._points[sizes % count]
        made = {
            name: conforming.make_argument(shape, dtypes[name], seed=seed + at)
            for at, (name, shape) in enumerate(shapes.items())
        }
        positional, named = conforming.split_arguments(self._namespace["reference"], made)
        strided = sizes == count
        text = ", ".join(f"{name}={dtypes[name]}{list(shape)}" for name, shape in shapes.items())
        text += ", not contiguous" if strided else ""
        return Inputs(positional, {**named, **self._fixed}, sizes=text), strided

    # A function that makes arguments.

    def _make_arguments(self, sizes: int, seed: int) -> tuple[Inputs, bool]:
        if self._small is None:
            self._small = self._search.shrink()
        values = self._search.vary(self._small, sizes, seed)
        strided = sizes < len(sizing.VARIANTS) and sizing.VARIANTS[sizes] == "strided"
        if sizes and values == self._small and not strided:
            raise TrialSkipped("the reference function runs with no other sizes")
        with trial.run_task_code():
            inputs = self._build(values, seed)
        inputs.sizes += ", not contiguous" if strided else ""
        return inputs, strided

    def _build(self, values: Sequence[int], seed: int) -> Inputs:
        namespace = self._module.execute(values)
        trial.seed_libraries(seed)
        function = namespace["arguments"]
        taken = inspect.signature(function).parameters
        try:
            made = function(np.random.default_rng(seed)) if "random" in taken else function()
        except Exception as error:
            raise TrialSkipped(f"`arguments` raised {trial.describe_error(error)}") from error
        inputs = _read_arguments(made)
        inputs.sizes = self._module.describe(namespace)
        if not inputs.sizes:
            inputs.sizes = _describe_shapes(inputs)
        return inputs

    def _measure(self, values: Sequence[int]) -> Cost:
        with trial.run_task_code() as meter:
            inputs = self._build(values, 0)
            elements = count_elements([list(inputs.args), dict(inputs.kwargs)])
            if elements <= _MAX_REAL:
                result = self._call(trial.copy_inputs(inputs), False)
                elements += count_elements(result if isinstance(result, (list, tuple)) else [result])
        return Cost(elements, max(meter.work, elements))


def _read_arguments(made: Any) -> Inputs:
    if isinstance(made, dict):
        return Inputs([], dict(made))
    if isinstance(made, tuple) and len(made) == 2 and isinstance(made[1], dict):
        return Inputs(list(made[0]), dict(made[1]))
    if isinstance(made, (list, tuple)):
        return Inputs(list(made), {})
    raise TaskError("`arguments` returns no list, dict, or pair of both")


def _describe_shapes(inputs: Inputs) -> str:
    values = [(f"argument {at}", one) for at, one in enumerate(inputs.args)] + list(inputs.kwargs.items())
    return ", ".join(f"{name}={list(one.shape)}" for name, one in values if arguments.is_tensor(one))
