"""KernelBench's form: a class `Model`, and the functions `get_inputs` and `get_init_inputs`."""

from __future__ import annotations

import contextlib
import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Sequence

import numpy as np

from .. import arguments, formats
from .. import inputs as kinds
from ..inputs import Data
from . import sizing, trial
from .literals import TaskModule
from .metering import Meter, WorkLimit, count_elements, make_shapes
from .sizing import Cost, Search
from .trial import Inputs, Outputs, TaskError, TrialSkipped

# Buffers of normalisations.
_STATISTICS = ("running_mean", "running_var")

ROOTS = ("get_inputs", "get_init_inputs")


class ModelTask:
    """A task in KernelBench's form."""

    form = "kernelbench"
    entry = "ModelNew"

    def __init__(self, path: Path, source: str) -> None:
        self.name = path.stem
        self._module = TaskModule(path, source, ROOTS)
        with trial.run_task_code():
            namespace = self._module.execute(self._module.values)
        for name in ("Model", *ROOTS):
            if name not in namespace:
                raise TaskError(f"the task has no `{name}`")
        # Decides about larger sizes: shapes alone do not show every error.
        self._search = Search(self._measure_run, self._module.values)
        self._has_shapes: bool | None = None
        self._small: list[int] | None = None
        self._checked = False

    @property
    def contract(self) -> dict[str, Any]:
        """The precision that a submission must have."""
        args: Any = []
        # A task whose inputs need elements is one of `float32`.
        with contextlib.suppress(Exception), arguments.torch_of().no_grad(), make_shapes():
            args = self._module.execute(self._module.values)["get_inputs"]()
        return trial.choose_contract(list(args))

    def make(self, chosen: Data, sizes: int) -> tuple[Inputs, Outputs]:
        """The inputs and outputs of a trial. Raises `TrialSkipped` and `TaskError`."""
        small = self._find_small()
        values = self._search.vary(small, sizes, chosen.seed)
        strided = sizes < len(sizing.VARIANTS) and sizing.VARIANTS[sizes] == "strided"
        if sizes and values == small and not strided:
            raise TrialSkipped("the reference function runs with no other sizes")
        namespace = self._module.execute(values)
        text = self._module.describe(namespace) + (", not contiguous" if strided else "")
        trial.seed_libraries(chosen.seed)
        with trial.run_task_code():
            try:
                init = namespace["get_init_inputs"]()
                model = namespace["Model"](*init)
                args = namespace["get_inputs"]()
            except Exception as error:
                raise TrialSkipped(f"the task raised {trial.describe_error(error)}") from error
        state = {name: one.clone() for name, one in model.state_dict().items()}
        parameters = [name for name, _ in model.named_parameters()]
        inputs = Inputs(list(args), {}, list(init), state, text)
        call = _ModelCall(namespace["Model"], model)
        varied = state if chosen.kind == kinds.GIVEN else _fill_state(state, parameters, chosen)

        def finish(domain: str) -> tuple[Inputs, Outputs]:
            filled = trial.fill_arguments(inputs, chosen, strided, domain)
            try:
                return self._finish(call, replace(filled, state=varied), chosen.kind)
            except TrialSkipped:
                if varied is state:
                    raise
                # A parameter may have to be positive.
                return self._finish(call, filled, chosen.kind)

        return trial.try_domains(chosen, finish)

    def _finish(self, call: _ModelCall, inputs: Inputs, kind: str) -> tuple[Inputs, Outputs]:
        expected = trial.compute_expected(call, inputs, kind)
        if not self._checked:
            trial.check_repeatable(call.with_new_model, inputs, expected)
            self._checked = True
        return inputs, expected

    # Sizes.

    def _find_small(self) -> list[int]:
        if self._small is None:
            self._check_parameters()
            search = Search(self._measure, self._module.values)
            small = search.shrink()
            cost = search.find_cost(small)
            if (
                self._has_shapes
                and cost is not None
                and not cost.too_large
                and self._search.find_cost(small) is None
            ):
                self._has_shapes = False
                search = Search(self._measure, self._module.values)
                small = search.shrink()
                cost = search.find_cost(small)
            if cost is None:
                reason = "" if search.error is None else trial.describe_error(search.error)
                raise TaskError(f"the reference function does not run at smaller sizes: {reason}")
            if cost.too_large:
                figures = f"{cost.elements} elements and {cost.work} operations"
                raise TaskError(f"the task is too large: its smallest sizes have {figures}")
            self._small = small
        return self._small

    def _check_parameters(self) -> None:
        """Raises `TaskError` for a model with too many parameters, whatever the sizes are."""
        original = self._module.values
        counts = []
        for values in (original, [min(value, sizing.SMALL) for value in original]):
            try:
                counts.append(self._count_parameters(values))
            except Exception:  # noqa: BLE001 (a constructor may raise anything; the search reports it)
                return
        if min(counts) > sizing.LIMIT_ELEMENTS:
            raise TaskError(f"the task is too large: its model has {min(counts)} parameters with any sizes")

    def _count_parameters(self, values: Sequence[int]) -> int:
        torch = arguments.torch_of()
        with torch.no_grad(), make_shapes():
            namespace = self._module.execute(values)
            model = namespace["Model"](*namespace["get_init_inputs"]())
        return count_elements(list(model.state_dict().values()))

    def _measure(self, values: Sequence[int]) -> Cost:
        if self._has_shapes is None:
            self._has_shapes = self._try_shapes()
        return self._measure_shapes(values) if self._has_shapes else self._measure_run(values)

    def _measure_run(self, values: Sequence[int]) -> Cost:
        elements = self._count_elements(values)
        if elements > sizing.MAX_MEASURED:
            # Too large to run: reduced further, until a run shows whether it is possible.
            return sizing.estimate_cost(elements)
        try:
            with trial.run_task_code(sizing.MAX_MEASURED_WORK) as meter:
                namespace = self._module.execute(values)
                model = namespace["Model"](*namespace["get_init_inputs"]())
                args = namespace["get_inputs"]()
                result = model(*args)
        except WorkLimit:
            return sizing.estimate_cost(elements)
        found = [list(args), list(model.state_dict().values()), _list_results(result)]
        return Cost(count_elements(found), meter.work)

    def _count_elements(self, values: Sequence[int]) -> int:
        """The elements of inputs and parameters, without their memory."""
        torch = arguments.torch_of()
        try:
            with torch.no_grad(), make_shapes():
                namespace = self._module.execute(values)
                model = namespace["Model"](*namespace["get_init_inputs"]())
                args = namespace["get_inputs"]()
        except Exception:  # noqa: BLE001 (a constructor may need elements)
            # At most a matrix for each literal.
            return sum(value * value for value in values)
        return count_elements([list(args), list(model.state_dict().values())])

    def _try_shapes(self) -> bool:
        """Whether the reference function runs with shapes alone. An operation may need elements."""
        try:
            self._measure_shapes(self._module.values)
        except Exception:  # noqa: BLE001 (any operation may raise any exception)
            return False
        return True

    def _measure_shapes(self, values: Sequence[int]) -> Cost:
        torch = arguments.torch_of()
        meter = Meter()
        with torch.no_grad(), make_shapes(), meter.watch():
            namespace = self._module.execute(values)
            model = namespace["Model"](*namespace["get_init_inputs"]())
            args = namespace["get_inputs"]()
            meter.work = 0
            result = model(*args)
        found = [list(args), list(model.state_dict().values()), _list_results(result)]
        return Cost(count_elements(found), meter.work)


class _ModelCall:
    """Calls a model with the state of inputs."""

    def __init__(self, model_class: Any, model: Any) -> None:
        self._class = model_class
        self._model = model

    def __call__(self, inputs: Inputs, exact: bool) -> Any:
        model = copy.deepcopy(self._model)
        return self._run(model.double() if exact else model, inputs)

    def with_new_model(self, inputs: Inputs, exact: bool) -> Any:
        """The result of another model with the same state."""
        return self._run(self._class(*inputs.init), inputs)

    def _run(self, model: Any, inputs: Inputs) -> Any:
        model.load_state_dict(inputs.state)
        return model(*inputs.args)


def _fill_state(state: dict[str, Any], parameters: Sequence[str], chosen: Data) -> dict[str, Any]:
    """A model's state with other parameters and running statistics. Other buffers stay: they may be masks and
    tables."""
    found = {}
    for position, (name, tensor) in enumerate(state.items()):
        dtype = arguments.dtype_of(tensor)
        made = tensor.clone()
        if (name in parameters or name.endswith(_STATISTICS)) and formats.is_float(dtype) and tensor.numel():
            initial = np.asarray(arguments.read_values(tensor))
            values = trial.fill_parameter(initial, chosen, position, dtype)
            if name.endswith("running_var"):
                values = np.abs(values) + 0.5
            arguments.write_values(made, values)
        found[name] = made
    return found


def _list_results(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [one for item in value.values() for one in _list_results(item)]
    if isinstance(value, (list, tuple)):
        return [one for item in value for one in _list_results(item)]
    return [value] if arguments.is_tensor(value) else []
