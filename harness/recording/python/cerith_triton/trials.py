"""One set of data: the launcher and its reference function are run on it, and their results compared.

See `checking` for the data that is tried, and `oracle` for how launches are executed.
"""

from __future__ import annotations

import copy
import inspect
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from . import arguments, formats, inputs, outputs
from .arguments import Argument, Copies
from .binary import CerithError
from .definition import function_of
from .devices import watch_torch
from .failures import kind_of, message_of
from .formats import Array
from .inputs import Data
from .oracle import Forbidden, LaunchError, Oracle, Outcome, write_expected
from .outputs import Results
from .standin.dtypes import DTYPES
from .standin.host import watch_empty

SEVERITY = (
    "agree",
    "undecided",
    "inaccurate",
    "unwritten",
    "wrong",
    "rejected",
    "undefined",
    "not judged",
)
"""Verdicts, the worst last."""

PASSING = ("agree", "undecided")
"""Verdicts of data that does not fail a check."""

_CONTRACTS = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}


@dataclass(frozen=True)
class Example:
    """An element of an output."""

    index: tuple[int, ...]
    kernel: float | int
    """The kernel's value."""
    expected: float | int
    """The reference function's."""
    low: float | None = None
    """The smallest value that the contract allows."""
    high: float | None = None
    """The largest."""


@dataclass(frozen=True)
class Output:
    """The comparison of an output."""

    name: str
    verdict: str
    """`agree`, `undecided`, `inaccurate`, `wrong` or `unwritten`."""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    elements: int = 0
    wrong: int = 0
    """Elements outside of everything that a conforming order of the contracted computation may give."""
    inaccurate: int = 0
    """Elements that are less accurate than the contract."""
    undecided: int = 0
    """Elements for which the bounds do not decide."""
    worst_ulps: float | None = None
    allowed_ulps: float | None = None
    example: Example | None = None
    kernel: str = ""
    """The kernel of the last launch that had it, and the launch's number from 1."""
    reason: str = ""
    """Why it could not be compared, or the problem if no element shows it."""
    distant: int = 0
    """Undecided elements that are far from the reference's values."""

    @property
    def decided(self) -> int:
        """Elements that were compared, and decided."""
        return self.elements - self.undecided


@dataclass(frozen=True)
class Trial:
    """The result of one set of data."""

    data: Data
    verdict: str
    """One of `SEVERITY`, or `skipped`."""
    outputs: tuple[Output, ...] = ()
    outcome: Outcome | None = None
    """The outcome of a launch that did not finish."""
    reason: str = ""
    """Why it was skipped."""
    operation: str = ""
    """The operation that loses most accuracy, and its location: ``in `reduce` at softmax.py:14``."""
    launches: int = 0
    notes: tuple[str, ...] = ()
    text: str = ""
    """The text of `cerith oracle`."""

    @property
    def fails(self) -> bool:
        """Whether a check fails because of it."""
        return self.verdict != "skipped" and self.verdict not in PASSING


@dataclass
class Subject:
    """A launcher and its reference function, with their arguments and the rules of the comparison."""

    fn: Callable[..., Any]
    like: Callable[..., Any]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    like_args: Sequence[Any]
    like_kwargs: Mapping[str, Any]
    accumulate: str = "float32"
    tf32: bool = True
    rtol: float | None = None
    atol: float | None = None
    parts: Path | None = None
    """The folder that keeps part files; None to remove them."""
    arguments: list[Argument] = field(init=False)
    name: str = field(init=False)
    reference: str = field(init=False)
    changed: list[str] = field(init=False, default_factory=list)
    """The arguments that a launcher without a result has changed so far, in order."""

    def __post_init__(self) -> None:
        self.accumulate = _find_contract(self.accumulate)
        kernel = kernel_of(self.fn)
        names = list(kernel.arg_names) if kernel is not None else _parameters(self.fn)
        self.arguments = arguments.find_arguments(names, self.args, self.kwargs)
        own = function_of(kernel).__name__ if kernel is not None else name_of(self.fn)
        self.name = "the launcher" if own == "<lambda>" else own
        other = name_of(self.like)
        self.reference = "the reference function" if other == "<lambda>" else other
        if self.reference == self.name:
            self.reference = f"{getattr(self.like, '__module__', 'reference')}.{other}"
        if _is_module(self.like):
            # Its parameters are arguments too.
            module: Any = copy.deepcopy(self.like)
            self.like = module.double()

    @property
    def varied(self) -> list[Argument]:
        """The arguments whose values are replaced."""
        return [one for one in self.arguments if one.varied and np.prod(one.shape, dtype=int)]

    @property
    def can_vary(self) -> bool:
        """Whether other data reaches both functions."""
        known = {id(one.tensor) for one in self.arguments}
        foreign = arguments.find_arguments((), self.like_args, self.like_kwargs)
        return bool(self.varied) and all(id(one.tensor) in known or not one.varied for one in foreign)

    def run(self, chosen: Data, values: Mapping[str, Array] | None = None) -> Trial:
        """Runs both functions on data. `values` replaces that of arguments, by their names.

        Raises an exception of the launcher if the data was given, `ValueError` if the functions have
        different outputs, and `CerithError` if Cerith itself fails.
        """
        __tracebackhide__ = True
        copies = Copies()
        for position, argument in enumerate(self.arguments):
            made = copies.copy(argument.tensor)
            if values is not None and argument.name in values:
                arguments.write_values(made, values[argument.name])
            elif chosen.kind != inputs.GIVEN and argument in self.varied:
                made_values = inputs.fill(chosen, position, argument.shape, argument.dtype)
                arguments.write_values(made, made_values)
        try:
            expected = self._run_reference(copies)
        except CerithError:
            raise
        except Exception as error:  # noqa: BLE001 (a reference function may raise anything)
            reason = f"{self.reference} raised {_describe_error(error)}"
            return Trial(chosen, "skipped", reason=reason)
        with tempfile.TemporaryDirectory(prefix="cerith-") as name:
            folder = Path(name)
            with closing(Oracle(self.parts or folder)) as oracle:
                return self._run_launcher(oracle, copies, chosen, expected, folder)

    def _run_reference(self, copies: Copies) -> Results:
        made: dict[int, Any] = {}

        def copy_of(tensor: Any) -> Any:
            if id(tensor) not in made:
                made[id(tensor)] = arguments.make_reference_copy(tensor, copies.copy(tensor))
            return made[id(tensor)]

        args = arguments.map_tensors(list(self.like_args), copy_of)
        kwargs = arguments.map_tensors(dict(self.like_kwargs), copy_of)
        with Forbidden() as forbidden, np.errstate(all="ignore"):
            result = self.like(*args, **kwargs)
            if forbidden.kernel is not None:
                raise CerithError(f"the reference function launches the kernel `{forbidden.kernel}`")
        found = outputs.flatten(result)
        return Results(found.names, [outputs.read_result(one) for one in found.values], found.named)

    def _run_launcher(
        self, oracle: Oracle, copies: Copies, chosen: Data, expected: Results, folder: Path
    ) -> Trial:
        __tracebackhide__ = True
        held = [one.tensor for one in self.arguments] + list_held(self.fn)
        dtypes = sorted({arguments.dtype_of(one) for one in held})
        oracle.name_exact(write_expected(folder, [self._list_exact(copies)], "argument"), dtypes)
        before = [arguments.read_bits(copies.copy(one.tensor)) for one in self.arguments]
        for argument in self.arguments:
            if arguments.is_torch(argument.tensor) and argument.tensor.requires_grad:
                copies.copy(argument.tensor).requires_grad_(True)
        args = arguments.map_tensors(list(self.args), copies.copy)
        kwargs = arguments.map_tensors(dict(self.kwargs), copies.copy)
        try:
            with oracle, watch_torch(oracle.note_empty), watch_empty(oracle.note_empty):
                result = self.fn(*args, **kwargs)
        except (LaunchError, CerithError) as error:
            if oracle.outcome is None:
                raise
            del error
        except Exception as error:
            if oracle.outcome is None:
                if chosen.kind == inputs.GIVEN:
                    raise
                reason = f"{self.name} raised {_describe_error(error)}"
                return Trial(chosen, "skipped", reason=reason)
        if oracle.outcome is not None:
            outcome = oracle.outcome
            verdict = outcome.outcome if outcome.outcome in ("undefined", "rejected") else "not judged"
            return self._trial(chosen, verdict, (), oracle, outcome=outcome)
        found = outputs.flatten(result)
        if not found.names:
            found = self._changed_arguments(copies, before, expected)
            missing = len(expected.names) - len(found.names)
            if missing > 0 and chosen.kind not in (inputs.GIVEN, "normal") and self.can_vary:
                # An output may have held these values before. Other data shows which arguments are outputs.
                self.run(Data("normal", chosen.seed))
                found = self._changed_arguments(copies, before, expected)
                missing = len(expected.names) - len(found.names)
            if missing > 0 and not expected.named:
                return self._trial(chosen, "unwritten", self._unwritten(found, expected, oracle), oracle)
        pairs = outputs.match_results(found, expected, self.name, self.reference)
        return self._compare(oracle, chosen, pairs, folder)

    def _list_exact(self, copies: Copies) -> Array:
        """The values of all arguments, and of tensors that the launcher holds, which have no error."""
        # Memory between the elements of a view too: a kernel may read it.
        scalars = [one for one in (*self.args, *self.kwargs.values()) if isinstance(one, (int, float))]
        found = [arguments.read_storage(copies.copy(one.tensor)) for one in self.arguments]
        found += [arguments.read_values(one).reshape(-1) for one in list_held(self.fn)]
        return np.concatenate([np.array(scalars, np.float64), *(one.astype(np.float64) for one in found)])

    def _changed_arguments(self, copies: Copies, before: Sequence[Array], expected: Results) -> Results:
        """The outputs of a launcher that returns nothing: the arguments that it changed with this data or
        earlier data, and those that the reference function names."""
        for argument, bits in zip(self.arguments, before):
            if argument.name in self.changed:
                continue
            named = expected.named and argument.name in expected.names
            if named or (arguments.read_bits(copies.copy(argument.tensor)) != bits).any():
                self.changed.append(argument.name)
        found = [one for one in self.arguments if one.name in self.changed]
        return Results([one.name for one in found], [copies.copy(one.tensor) for one in found], True)

    def _unwritten(self, found: Results, expected: Results, oracle: Oracle) -> tuple[Output, ...]:
        changed = ", ".join(f"`{name}`" for name in found.names) or "no argument"
        launched = "its launches changed" if oracle.launches else "it launched no kernel, and changed"
        reason = f"{launched} {changed}, and {self.reference} returns {len(expected.names)} values"
        return (Output("an output", "unwritten", reason=reason),)

    def _trial(
        self, chosen: Data, verdict: str, found: tuple[Output, ...], oracle: Oracle, **more: Any
    ) -> Trial:
        return Trial(chosen, verdict, found, launches=oracle.launches, notes=tuple(oracle.notes), **more)

    # Comparisons.

    def _compare(
        self, oracle: Oracle, chosen: Data, pairs: list[tuple[str, Any, Any]], folder: Path
    ) -> Trial:
        found: dict[str, Output] = {}
        requests, files = [], []
        for name, value, expected in pairs:
            known = self._classify(oracle, name, value, expected)
            if isinstance(known, Output):
                found[name] = known
            else:
                request, values = known
                requests.append(request)
                files.append(values)
        answer: dict[str, Any] = {}
        if requests:
            for request, path in zip(requests, write_expected(folder, files, "expected")):
                request["expected"] = path
            rules = {"accumulate": self.accumulate, "tf32": self.tf32, "rtol": self.rtol, "atol": self.atol}
            answer = oracle.compare({**rules, "outputs": requests})
            for request, one in zip(requests, answer["outputs"]):
                found[request["name"]] = self._read_output(oracle, request, one, pairs)
        ordered = tuple(found[name] for name, _, _ in pairs)
        verdict = max((one.verdict for one in ordered), key=SEVERITY.index, default="undecided")
        operation = answer.get("operation") or {}
        operator = operation.get("name")
        # Rust's word for an operation that has no name in Triton's language.
        location = "" if operator in (None, "operation") else f"in `{operator}` "
        location += f"at {operation.get('file')}:{operation.get('line')}"
        return self._trial(
            chosen,
            verdict,
            ordered,
            oracle,
            operation=location if operation else "",
            text=str(answer.get("text") or ""),
        )

    def _classify(
        self, oracle: Oracle, name: str, value: Any, expected: Any
    ) -> Output | tuple[dict[str, Any], Array]:
        """The verdict of an output that needs no bounds, or a request for a comparison and its values."""
        if expected is None:
            return Output(name, "undecided", reason=f"{self.reference} returns no `{name}`")
        if not arguments.is_tensor(value):
            return Output(name, "undecided", reason=f"it is a {type(value).__qualname__}, not a tensor")
        obstacle = arguments.find_obstacle(value)
        if obstacle is not None and not (value.is_neg() or value.is_conj()):
            return Output(name, "wrong", arguments.dtype_of(value), reason=obstacle)
        dtype, shape = arguments.dtype_of(value), tuple(int(size) for size in value.shape)
        elements = int(np.prod(shape, dtype=int))
        about: dict[str, Any] = {"name": name, "dtype": dtype, "shape": shape, "elements": elements}
        fitted = outputs.fit_shape(expected, shape)
        if fitted is None:
            reason = f"its shape is {list(shape)}, and {self.reference} returns {list(expected.shape)}"
            return Output(**about, verdict="wrong", wrong=elements, reason=reason)
        values = outputs.convert_expected(fitted, dtype)
        if values is None:
            reason = f"it holds {dtype}, and {self.reference} returns fractions or numbers out of its range"
            return Output(**about, verdict="wrong", wrong=elements, reason=reason)
        if not elements:
            return Output(**about, verdict="agree")
        writer = None if obstacle else oracle.writer_of(value)
        if writer is None and not oracle.changed_anything:
            reason = "no kernel was launched" if not oracle.launches else "no launch wrote it"
            return Output(**about, verdict="unwritten", reason=reason)
        if writer is None or (writer.content is not None and oracle.read_storage(value) != writer.content):
            if self.rtol is not None or self.atol is not None:
                return self._compare_hosts(about, value, values)
            reason = "the host computes it from the kernel's results: give `rtol` or `atol` to compare it"
            return Output(**about, verdict="undecided", undecided=elements, reason=reason)
        holder = arguments.ArrayTensor(value) if isinstance(value, np.ndarray) else value
        request = {
            "name": name,
            "launch": writer.launch,
            "storage": writer.storage,
            "dtype": dtype,
            "shape": list(shape),
            "strides": [int(stride) for stride in holder.stride()],
            "offset": int(holder.storage_offset()),
        }
        return request, values

    def _compare_hosts(self, about: dict[str, Any], value: Any, expected: Array) -> Output:
        """Compares an output of host code, with the tolerance that was given."""
        kernel = arguments.read_values(value).astype(expected.dtype)
        if formats.is_float(about["dtype"]):
            # A number below the smallest of the dtype has no relative precision.
            expected = formats.round_to(expected, about["dtype"])
        outside = outputs.find_outside(kernel, expected, self.rtol or 0.0, self.atol or 0.0)
        about["worst_ulps"] = outputs.find_largest_ulps(kernel, expected, about["dtype"])
        if not outside.any():
            return Output(**about, verdict="agree")
        index = tuple(int(at) for at in np.argwhere(outside)[0])
        example = Example(index, kernel[index].item(), expected[index].item())
        return Output(**about, verdict="wrong", wrong=int(outside.sum()), example=example)

    def _read_output(
        self,
        oracle: Oracle,
        request: Mapping[str, Any],
        answer: Mapping[str, Any],
        pairs: list[tuple[str, Any, Any]],
    ) -> Output:
        value = next(value for name, value, _ in pairs if name == request["name"])
        writer = oracle.writer_of(value)
        assert writer is not None
        verdict, reason = str(answer["verdict"]), str(answer.get("reason") or "")
        elements, undecided = int(answer.get("elements", 0)), int(answer.get("undecided", 0))
        unwritten = int(answer.get("unwritten") or 0)
        if not writer.changed and verdict in ("wrong", "inaccurate"):
            verdict, reason = "unwritten", "no launch changed it"
        elif unwritten:
            verdict, reason = "unwritten", f"{unwritten} of {elements} elements"
        elif verdict == "undecided" and reason:
            undecided = elements
        shown = answer.get("example")
        example = None
        if shown:
            example = Example(
                tuple(shown["index"]),
                _number(shown["kernel"]),
                _number(shown["expected"]),
                None if shown.get("low") is None else float(_number(shown["low"])),
                None if shown.get("high") is None else float(_number(shown["high"])),
            )
        return Output(
            str(request["name"]),
            verdict,
            str(request["dtype"]),
            tuple(request["shape"]),
            elements,
            int(answer.get("wrong", 0)),
            int(answer.get("inaccurate", 0)),
            undecided,
            answer.get("worst_ulps"),
            answer.get("allowed_ulps"),
            example,
            f"launch {writer.launch + 1} of {writer.kernel}",
            reason,
            int(answer.get("distant") or 0),
        )


def _describe_error(error: Exception) -> str:
    message = message_of(error)
    return f"{kind_of(error)}: {message}" if message else kind_of(error)


def _number(value: Any) -> float | int:
    """A number that may be text: JSON has no NaN and no infinities."""
    if isinstance(value, str):
        return int(value) if value.lstrip("-").isdecimal() else float(value)
    number: float | int = value
    return number


def _find_contract(accumulate: str) -> str:
    name = str(accumulate).rpartition(".")[2]
    if name in _CONTRACTS:
        return _CONTRACTS[name]
    if name in _CONTRACTS.values():
        return name
    raise ValueError(f"there is no contract `{accumulate}`: accumulate in {', '.join(_CONTRACTS)}")


def kernel_of(fn: Any) -> Any:
    """The kernel in `kernel[grid]`; `None` if a function is not that."""
    held = [getattr(fn, "fn", None), getattr(getattr(fn, "func", None), "__self__", None)]
    if inspect.isfunction(fn) and fn.__name__ == "<lambda>":
        held += [cell.cell_contents for cell in fn.__closure__ or () if _is_filled(cell)]
    for one in held:
        while one is not None:
            if hasattr(one, "arg_names") and hasattr(one, "fn"):
                return one
            one = getattr(one, "fn", None)
    if type(fn).__name__ == "GridExecutor":
        return fn
    return None


def list_held(fn: Any) -> list[Any]:
    """The tensors that a function holds: its module's parameters, bound arguments, closure and globals."""
    code, names = getattr(fn, "__code__", None), getattr(fn, "__globals__", {})
    values = [fn, getattr(fn, "__self__", None)]
    values += [cell.cell_contents for cell in getattr(fn, "__closure__", None) or () if _is_filled(cell)]
    values += [names[name] for name in getattr(code, "co_names", ()) if name in names]
    if hasattr(fn, "func"):
        values += [*fn.args, *fn.keywords.values()]
    held: list[Any] = []
    for one in values:
        if _is_module(one):
            held += [*one.parameters(), *one.buffers()]
    arguments.map_tensors(values, held.append)
    # Kernels have no complex numbers.
    return [one for one in held if arguments.dtype_of(one) in DTYPES]


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def name_of(fn: Any) -> str:
    """A function as a reader knows it: `torch.softmax`."""
    inner = getattr(fn, "func", fn)
    name = str(getattr(inner, "__name__", type(inner).__name__))
    for module in ("torch", "torch.nn.functional", "numpy"):
        loaded = sys.modules.get(module)
        if getattr(loaded, name, None) is inner:
            return f"{module}.{name}"
    where = str(getattr(inner, "__module__", "") or "")
    if where.startswith(("torch.", "numpy.")):
        return f"{where}.{name}"
    return name


def _parameters(fn: Any) -> list[str]:
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [one.name for one in parameters if one.kind in kinds]


def _is_module(value: Any) -> bool:
    kind = getattr(getattr(arguments.torch_of(), "nn", None), "Module", None)
    return kind is not None and isinstance(value, kind)
