"""TritonBench's forms: functions, a line of `#`, and a test that calls them.

A function is torch's (TritonBench-T), or launches kernels (TritonBench-G). The calls that the test makes are
captured, and made again with other data and sizes.
"""

from __future__ import annotations

import ast
import re
import sys
import tempfile
import types
from contextlib import closing
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

import numpy as np

from .. import arguments, formats, hooks
from ..binary import CerithError
from ..devices import watch_torch
from ..inputs import GIVEN, Data
from ..launch import Call
from ..oracle import LaunchError, Oracle
from . import sizing, trial
from .calls import CapturedCall
from .metering import Meter, WorkLimit, count_elements, make_shapes
from .sizing import Cost, Search
from .trial import Inputs, LaunchedOutput, NotFinite, Outputs, TaskError, TrialSkipped

SEPARATOR = re.compile(r"^#{100,}\s*$", re.MULTILINE)
"""The line between the functions and their test."""

# Calls of a test that are kept.
_MAX_CALLS = 8
# Operations of a test.
_MAX_WORK = 1 << 33


class LaunchFailed(TrialSkipped):
    """A launch of a task did not finish."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"a launch of the task failed: {reason}")


class CallTask:
    """A task in one of TritonBench's forms."""

    form = "tritonbench"

    def __init__(self, path: Path, source: str) -> None:
        self.name = path.stem
        match = SEPARATOR.search(source)
        assert match is not None
        # Kernels may be imported by the task.
        hooks.prepare()
        module = types.ModuleType("task")
        module.__file__ = str(path)
        # Decorators look up the module of a function.
        sys.modules["task"] = module
        with trial.run_task_code():
            exec(compile(source[: match.end()], str(path), "exec"), vars(module))  # noqa: S102 (the user's file)
        self._is_kernel = any(_is_kernel(one) for one in vars(module).values())
        lines = source.count("\n", 0, match.end())
        test = ast.parse("\n" * lines + source[match.end() :], str(path))
        names = _find_entries(ast.parse(source[: match.end()]), test, vars(module))
        if not names:
            raise TaskError("the test calls no function that the task defines")
        captured = _Capture(vars(module), names, path.stem)
        captured.run(compile(test, str(path), "exec"), self._is_kernel)
        if not captured.calls:
            reason = "" if captured.error is None else f": {trial.describe_error(captured.error)}"
            raise TaskError(f"the test calls no function of the task{reason}")
        self.entry = max(captured.calls, key=lambda name: len(captured.calls[name]))
        self._function: Callable[..., Any] = captured.functions[self.entry]
        self._calls = [_SizedCall(one, self._function, self._is_kernel) for one in captured.calls[self.entry]]
        self._order = list(_order_sizes(len(self._calls)))
        self._checked = False

    @property
    def contract(self) -> dict[str, Any]:
        """The precision that a submission must have."""
        return trial.choose_contract([one.arguments for one in self._calls])

    def make(self, chosen: Data, sizes: int) -> tuple[Inputs, Outputs]:
        """The inputs and outputs of a trial. Raises `TrialSkipped` and `TaskError`."""
        if sizes >= len(self._order):
            raise TrialSkipped(f"the task has {len(self._order)} sets of sizes")
        number, variant = self._order[sizes]
        call = self._calls[number]

        def finish(domain: str) -> tuple[Inputs, Outputs]:
            if variant and call.has_floats and not self._is_kernel:
                try:
                    inputs = call.make_inputs(variant, chosen, domain, varies_numbers=True)
                    return inputs, trial.compute_expected(self._call, inputs, chosen.kind)
                except (TrialSkipped, NotFinite):
                    # The function is not defined for these numbers.
                    pass
            inputs = call.make_inputs(variant, chosen, domain)
            if self._is_kernel:
                try:
                    return inputs, self._launch(inputs)
                except LaunchFailed:
                    if variant or not call.restore_sizes():
                        raise
                inputs = call.make_inputs(variant, chosen, domain)
                return inputs, self._launch(inputs)
            expected = trial.compute_expected(self._call, inputs, chosen.kind)
            if not self._checked:
                trial.check_repeatable(self._call, inputs, expected)
                self._checked = True
            return inputs, expected

        return trial.try_domains(chosen, finish)

    def _call(self, inputs: Inputs, exact: bool) -> Any:
        return self._function(*inputs.args, **inputs.kwargs)

    def _launch(self, inputs: Inputs) -> Outputs:
        """The outputs of a function that launches kernels. The judge executes the launches."""
        torch = arguments.torch_of()
        copies = trial.copy_inputs(inputs)
        before = trial.read_all(copies)
        with tempfile.TemporaryDirectory(prefix="cerith-") as folder, closing(Oracle(Path(folder))) as oracle:
            try:
                with oracle, watch_torch(oracle.note_empty), torch.no_grad():
                    result = self._function(*copies.args, **copies.kwargs)
            except (LaunchError, CerithError) as error:
                raise LaunchFailed(trial.describe_error(error)) from error
            except Exception as error:
                raise TrialSkipped(f"the task's function raised {trial.describe_error(error)}") from error
            if oracle.outcome is not None:
                raise LaunchFailed(oracle.outcome.text[:200])
            if trial.read_all(copies) != before:
                raise TrialSkipped("the reference function changes its arguments")
            leaves = trial.flatten(result)
            found = [_describe_output(oracle, *one) for one in zip(leaves.names, leaves.values)]
        if not found:
            raise TrialSkipped("the reference function returns no tensor")
        return Outputs(leaves.structure, found)


class _SizedCall:
    """A call, with the sizes that its function runs with."""

    def __init__(self, call: CapturedCall, function: Callable[..., Any], is_kernel: bool) -> None:
        self._captured = call
        self._function = function
        self._is_kernel = is_kernel
        self._search = Search(self._measure, call.sizes)
        self._small: list[int] | None = None
        self._has_shapes: bool | None = None

    @property
    def arguments(self) -> list[Any]:
        """Its arguments, as they were."""
        return [list(self._captured.args), dict(self._captured.kwargs)]

    @property
    def has_floats(self) -> bool:
        """Whether a float is among its arguments."""
        values = [*self._captured.args, *self._captured.kwargs.values()]
        return any(type(one) is float for one in values)

    def make_inputs(self, variant: int, chosen: Data, domain: str, varies_numbers: bool = False) -> Inputs:
        """Its inputs with sizes of a variant, a kind of data, and with `varies_numbers` other floats."""
        if self._small is None:
            phases = sizing.KERNEL_PHASES if self._is_kernel else sizing.PHASES
            self._small = self._search.shrink(phases)
        cost = self._search.find_cost(self._small)
        if cost is None:
            error = self._search.error
            reason = "" if error is None else trial.describe_error(error)
            raise TrialSkipped(f"the reference function does not run: {reason}")
        if cost.too_large:
            figures = f"{cost.elements} elements and {cost.work} operations"
            raise TrialSkipped(f"the call is too large: its smallest sizes have {figures}")
        values = self._search.vary(self._small, variant, chosen.seed, grows=True)
        strided = variant < len(sizing.VARIANTS) and sizing.VARIANTS[variant] == "strided"
        if variant and values == self._small and not strided:
            raise TrialSkipped("the reference function runs with no other sizes")
        # Integers are indices and offsets of the floats. Without floats, they are the data.
        floats = any(formats.is_float(arguments.dtype_of(one)) for one in self._captured.tensors)
        permutes = not floats and chosen.kind != GIVEN
        inputs = self._captured.resize(values, chosen.seed, varies_numbers, permutes)
        inputs.sizes = self._captured.describe(inputs) + (", not contiguous" if strided else "")
        return trial.fill_arguments(inputs, chosen, strided, domain)

    def restore_sizes(self) -> bool:
        """Goes back to the sizes of the test. False if they are in use or too large."""
        original = list(self._search.original)
        cost = self._search.find_cost(original)
        if self._small == original or cost is None or cost.too_large:
            return False
        self._small = original
        return True

    def _measure(self, values: Sequence[int]) -> Cost:
        if self._has_shapes is None:
            try:
                self._measure_shapes(self._search.original)
                self._has_shapes = True
            except Exception:  # noqa: BLE001 (an operation may need elements, and raise anything)
                self._has_shapes = False
        if self._has_shapes:
            cost = self._measure_shapes(values)
            if cost.too_large or self._is_kernel:
                return cost
        # Shapes alone do not show every error.
        inputs = self._captured.resize(values, 0)
        elements = count_elements([inputs.args, inputs.kwargs])
        if elements > sizing.MAX_MEASURED:
            return sizing.estimate_cost(elements)
        try:
            with trial.run_task_code(sizing.MAX_MEASURED_WORK) as meter, _Discarded():
                result = self._function(*inputs.args, **inputs.kwargs)
        except WorkLimit:
            return sizing.estimate_cost(elements)
        return Cost(elements + _count_results(result), meter.work)

    def _measure_shapes(self, values: Sequence[int]) -> Cost:
        torch = arguments.torch_of()
        inputs = self._captured.resize(values, 0)
        args, kwargs = arguments.map_tensors(
            (list(inputs.args), dict(inputs.kwargs)), lambda one: one.to("meta")
        )
        meter = Meter()
        with torch.no_grad(), make_shapes(), meter.watch(), _Discarded():
            result = self._function(*args, **kwargs)
        return Cost(count_elements([args, kwargs]) + _count_results(result), meter.work)


class _Capture:
    """The calls that a test makes, of functions of a task."""

    def __init__(self, namespace: dict[str, Any], names: Sequence[str], stem: str) -> None:
        self.calls: dict[str, list[CapturedCall]] = {}
        self.functions = {name: namespace[name] for name in names}
        self.error: Exception | None = None
        """The exception that ended the test."""
        self._namespace = namespace
        self._stem = stem
        self._depth = 0

    def run(self, test: Any, is_kernel: bool) -> None:
        """Runs a test. An exception ends it: the calls before it are known."""
        for name, function in self.functions.items():
            self._namespace[name] = self._wrap(name, function)
        # A test may import its task by the file's name.
        before = sys.modules.get(self._stem)
        sys.modules[self._stem] = sys.modules["task"]
        trial.seed_libraries(0)
        try:
            with trial.run_task_code(_MAX_WORK), _Discarded():
                exec(test, self._namespace)  # noqa: S102 (the task is the user's own file)
        except Exception as error:  # noqa: BLE001 (a test may raise anything; its launches compute nothing)
            self.error = error
        finally:
            self._namespace.update(self.functions)
            if before is None:
                del sys.modules[self._stem]
            else:
                sys.modules[self._stem] = before

    def _wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            known = self.calls.get(name, [])
            if not self._depth and len(known) < _MAX_CALLS:
                self.calls[name] = [*known, CapturedCall.from_arguments(args, kwargs)]
            self._depth += 1
            try:
                return function(*args, **kwargs)
            finally:
                self._depth -= 1

        return call


class _Discarded:
    """A context in which launches compute nothing: a test is run for the arguments of its calls."""

    def __init__(self) -> None:
        self._before: hooks.Executor | None = None

    def __enter__(self) -> None:
        hooks.install()
        self._before, hooks.executor = hooks.executor, self

    def __exit__(self, *_: object) -> None:
        hooks.executor = self._before

    def execute(self, call: Call, grid: Any) -> None:
        """Ignores a launch."""

    def refuse(self, reason: str) -> None:
        """Ignores a launch that cannot be executed."""

    def choose_configuration(self, tuner: Any, name: str, configurations: Sequence[Any]) -> Any:
        """The first one: no launch of it computes anything."""
        return configurations[0]


def _describe_output(oracle: Oracle, name: str, value: Any) -> LaunchedOutput:
    """An output as a view of a launch's storage. Raises `TrialSkipped` if no launch wrote it."""
    writer = oracle.writer_of(value)
    if writer is None or not writer.changed or oracle.read_storage(value) != writer.content:
        raise TrialSkipped(f"`{name}` is not what a launch of the task left")
    dtype = arguments.dtype_of(value)
    if formats.is_float(dtype) and not np.isfinite(arguments.read_values(value)).all():
        raise NotFinite
    return LaunchedOutput(
        name,
        dtype,
        [int(size) for size in value.shape],
        [int(stride) for stride in value.stride()],
        int(value.storage_offset()),
        writer.launch,
        writer.storage,
    )


def _order_sizes(calls: int) -> Iterator[tuple[int, int]]:
    """Calls and variants: each call as it is, followed by one variant, and then the other variants."""
    # The sizes of a test are not long.
    last = sizing.VARIANTS.index("long")
    others = range(1, last)
    first = {number: 1 + number % len(others) for number in range(calls)}
    for number in range(calls):
        yield number, 0
        yield number, first[number]
    for variant in (*others, last):
        for number in range(calls):
            if first[number] != variant:
                yield number, variant


def _count_results(result: Any) -> int:
    try:
        return count_elements(trial.flatten(result).values)
    except TrialSkipped:
        return 0


def _is_kernel(value: Any) -> bool:
    """Whether a value is a kernel, or a tuner of one."""
    while value is not None and type(value).__module__.startswith("triton."):
        if hasattr(value, "arg_names") and hasattr(value, "fn"):
            return True
        value = getattr(value, "fn", None)
    return False


def _find_entries(task: ast.Module, test: ast.Module, namespace: dict[str, Any]) -> list[str]:
    """The functions of a task that its test calls, in order. Kernels are not among them."""
    loads = {
        one.func.id for one in ast.walk(test) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)
    }
    defined: list[str] = []
    for statement in task.body:
        if isinstance(statement, ast.FunctionDef):
            defined.append(statement.name)
        elif isinstance(statement, ast.Assign):
            defined += [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return [
        name
        for name in dict.fromkeys(defined)
        if name in loads and callable(namespace.get(name)) and not isinstance(namespace[name], type)
        # Kernels and tuners are objects of Triton.
        if not type(namespace[name]).__module__.startswith("triton.")
    ]
