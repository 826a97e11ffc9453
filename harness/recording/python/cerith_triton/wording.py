"""The text and the HTML of a comparison: at most 80 columns and 2 KB, so that a model or a terminal reads it.

It begins with the problem, and ends with a test that repeats it.
"""

from __future__ import annotations

import html
import math
import re
import textwrap
from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np

from . import arguments, formats, inputs
from .formats import Array
from .inputs import Data
from .trials import Example, Output, Subject, Trial, kernel_of

COLUMNS = 80
MAX_TEXT = 2048
"""Bytes."""

# Elements of a tensor that a test spells out, and elements that it sets one by one.
_MAX_LISTED, _MAX_SET = 16, 8


def describe(
    subject: Subject, trials: Sequence[Trial], failing: Trial | None, uncompared: Sequence[str], seed: int
) -> list[str]:
    """The lines of a comparison's text, without the test that repeats it."""
    if failing is None:
        lines = [_describe_passing(subject, trials, uncompared)]
    else:
        lines = [_describe_problem(subject, failing), *_describe_detail(failing)]
    lines += _describe_data(trials, failing, seed)
    notes = dict.fromkeys(note for trial in trials for note in trial.notes)
    lines += [f"  note: {note}" for note in notes]
    return lines


def _describe_passing(subject: Subject, trials: Sequence[Trial], uncompared: Sequence[str]) -> str:
    compared = [one for trial in trials for one in trial.outputs]
    if uncompared or not compared:
        what = ", ".join(f"`{name}`" for name in uncompared) or "no output"
        reasons = [one.reason for one in compared if one.reason and one.name in uncompared]
        reasons += [trial.reason for trial in trials if trial.reason]
        reasons += [
            f"{one.distant} of {one.elements} elements are far from the reference's values, and their bounds "
            "exclude nothing"
            for one in compared
            if one.distant and one.name in uncompared
        ]
        reasons += [
            f"{one.undecided} of {one.elements} elements have no bounds, and not the reference's values"
            for one in compared
            if one.undecided and one.name in uncompared
        ]
        why = f": {reasons[0]}" if reasons else ""
        if not compared:
            return f"{subject.name} was not compared with {subject.reference}{why}"
        return f"{subject.name} was not compared with {subject.reference} in {what}{why}"
    decided, elements = sum(one.decided for one in compared), sum(one.elements for one in compared)
    ran = sum(trial.verdict != "skipped" for trial in trials)
    worst = _largest([one.worst_ulps for one in compared])
    counted = f"{decided} elements in {ran} {'set' if ran == 1 else 'sets'} of data"
    if elements > decided:
        counted += f", {elements - decided} undecided"
    if worst is not None:
        counted += f", at most {worst:.3g} ulps off"
    return f"{subject.name} agrees with {subject.reference}: {counted}"


def describe_agreement(comparisons: Sequence[Any], seed: int) -> str:
    """The text of comparisons that all agree."""
    outputs = [output for one in comparisons for trial in one.trials for output in trial.outputs]
    ran = sum(trial.verdict != "skipped" for one in comparisons for trial in one.trials)
    worst = _largest([one.worst_ulps for one in outputs])
    agrees = comparisons[0].text.partition(":")[0]
    line = f"{agrees}: {sum(one.decided for one in outputs)} elements in {ran} sets of data and "
    line += f"{len(comparisons)} {'call' if len(comparisons) == 1 else 'calls'}"
    line += "" if worst is None else f", at most {worst:.3g} ulps off"
    return limit([line, f"  seed: {seed}"], ())


def _largest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _describe_problem(subject: Subject, failing: Trial) -> str:
    outcome = failing.outcome
    if outcome is not None:
        text = outcome.text.strip().partition("\n")[0]
        if failing.verdict == "not judged":
            return f"{subject.name} was not judged: {text}"
        return text if text.startswith(subject.name) else f"{subject.name}: {text}"
    worst = find_failing(failing)
    if worst.verdict == "unwritten":
        return f"{subject.name}: `{worst.name}` was not written by a launch: {worst.reason}"
    count = worst.wrong if worst.verdict == "wrong" else worst.inaccurate
    where = f"{count} of {worst.elements} elements of `{worst.name}`"
    if worst.verdict == "wrong":
        return f"{subject.name} does not compute {subject.reference}: {where} are wrong"
    return (
        f"{subject.name} computes {subject.reference}, and {where} are less accurate than the contract"
        f"{_ulps(worst)}"
    )


def _ulps(one: Output) -> str:
    if one.worst_ulps is None:
        return ""
    allowed = "" if one.allowed_ulps is None else f" of {one.allowed_ulps:.3g} allowed"
    return f": {one.worst_ulps:.3g} ulps{allowed}"


def find_failing(trial: Trial) -> Output:
    """The output for which a trial fails."""
    found = [one for one in trial.outputs if one.verdict == trial.verdict]
    return found[0]


def _describe_detail(failing: Trial) -> list[str]:
    outcome = failing.outcome
    if outcome is not None:
        lines = [f"  {line}" for line in outcome.text.strip().splitlines()[1:]]
        if outcome.file and not any(outcome.file in line for line in lines):
            lines.insert(0, f"  at {outcome.file}:{outcome.line}")
        return lines
    one = find_failing(failing)
    lines = []
    if one.verdict == "unwritten":
        return [f"  {one.kernel}"] if one.kernel else []
    if one.reason:
        lines.append(f"  {one.reason}")
    if failing.operation:
        lines.append(f"  most of it is lost {failing.operation}")
    if one.kernel:
        lines.append(f"  {one.kernel}")
    if one.example is not None:
        lines += _describe_example(one, one.example)
    elif failing.text:
        lines += [f"  {line}" for line in failing.text.strip().splitlines()]
    return lines


def _describe_example(one: Output, example: Example) -> list[str]:
    index = ", ".join(str(at) for at in example.index)
    lines = [
        (
            f"  {one.name}[{index}] ({one.dtype}): kernel {_number(example.kernel)}, "
            f"expected {_number(example.expected)}"
        )
    ]
    if example.low is not None and example.high is not None:
        what = "the kernel's formula has" if one.verdict == "wrong" else "the contract permits"
        lines.append(f"  {what} {_number(example.low)} to {_number(example.high)}")
    return lines


def _number(value: float) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _describe_data(trials: Sequence[Trial], failing: Trial | None, seed: int) -> list[str]:
    lines = []
    if failing is not None:
        lines.append(f"  data: {failing.data.kind} ({failing.data.purpose})")
    passed = [trial.data.kind for trial in trials if trial.verdict in ("agree", "undecided")]
    failed = [
        trial.data.kind
        for trial in trials
        if trial.fails and failing and trial.data.kind != failing.data.kind
    ]
    if failed:
        lines.append(f"  fails with {', '.join(failed)} too")
    if passed:
        lines.append(f"  {'agrees with' if failing else 'data'}: {', '.join(passed)}")
    lines.append(f"  seed: {seed}")
    skipped: dict[str, list[str]] = {}
    for trial in trials:
        if trial.verdict == "skipped":
            skipped.setdefault(trial.reason, []).append(trial.data.kind)
    lines += [f"  skipped {', '.join(kinds)}: {reason}" for reason, kinds in skipped.items()]
    partly = {
        one.name: one.reason
        for trial in trials
        for one in trial.outputs
        if one.verdict == "undecided" and one.reason
    }
    lines += [f"  not compared: `{name}`: {reason}" for name, reason in partly.items()]
    return lines


class CodeWriter:
    """Writes a test that repeats a failure, to paste."""

    def __init__(self, subject: Subject, chosen: Data, values: Mapping[str, Array] | None) -> None:
        """`values` are the data of each argument, if it was reduced."""
        self._subject = subject
        self._chosen = chosen
        self._values = values
        # The data is in the test, and not made from a seed.
        self._literal = values is not None or chosen.kind == inputs.GIVEN
        # Names of arguments that are too large to be spelled out, and their descriptions.
        self._omitted: dict[str, str] = {}

    def write(self, options: Mapping[str, Any]) -> list[str]:
        """The lines. `options` are further arguments of `check`."""
        subject = self._subject
        sides: list[tuple[str, Any]] = [("args", subject.args), ("kwargs", subject.kwargs)]
        if subject.like_args is not subject.args:
            sides.append(("like_args", subject.like_args))
        if subject.like_kwargs is not subject.kwargs:
            sides.append(("like_kwargs", subject.like_kwargs))
        lines = []
        for side, given in sides:
            if given or side.startswith("like"):
                lines += self._write_side(side, given)
        lines += [f"{key}={value!r}," for key, value in options.items()]
        lines.append('data="given",' if self._literal else f'data="{self._chosen.kind}",')
        if not self._literal:
            lines.append(f"seed={self._chosen.seed},")
        name = subject.name.rpartition(".")[2].rpartition(" ")[2]
        return [
            f"def test_{name}():",
            *(f"    # {name}: {text}" for name, text in self._omitted.items()),
            "    cerith_triton.check(",
            f"        {_write_function(subject.fn, subject.name)},",
            f"        like={_write_function(subject.like, subject.reference)},",
            *(f"        {line}" for line in lines),
            "    )",
        ]

    def _write_side(self, side: str, given: Any) -> list[str]:
        if isinstance(given, Mapping):
            items = [f'"{key}": {self._write_value(one)}' for key, one in given.items()]
            begin, end = "{", "}"
        else:
            items = [self._write_value(one) for one in given]
            begin, end = "[", "]"
        line = f"{side}={begin}{', '.join(items)}{end},"
        if len(line) + 8 <= COLUMNS:
            return [line]
        return [
            f"{side}={begin}",
            *(line for item in items for line in _wrap_code(f"    {item},")),
            f"{end},",
        ]

    def _write_value(self, value: Any) -> str:
        if arguments.is_tensor(value):
            return self._write_tensor(value)
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key!r}: {self._write_value(one)}" for key, one in value.items()) + "}"
        if type(value) in (list, tuple):
            inner = ", ".join(self._write_value(one) for one in value)
            if isinstance(value, list):
                return f"[{inner}]"
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        text = repr(value)
        return text if len(text) <= COLUMNS else self._omit("value", f"a {type(value).__qualname__}")

    def _omit(self, name: str, text: str) -> str:
        name = re.sub(r"\W+", "_", name).strip("_") or "value"
        while name in self._omitted and self._omitted[name] != text:
            name += "_"
        self._omitted[name] = text
        return name

    def _write_tensor(self, tensor: Any) -> str:
        argument = next((one for one in self._subject.arguments if one.tensor is tensor), None)
        dtype, shape = arguments.dtype_of(tensor), tuple(int(size) for size in tensor.shape)
        spelling = _Spelling(dtype, shape, arguments.is_torch(tensor))
        layout = _write_layout(tensor)
        if argument is not None and argument.varied and not self._literal:
            # The data replaces its values.
            return spelling.write_zeros() if layout is None else layout
        found = arguments.read_values(tensor)
        if self._values is not None and argument is not None and argument.name in self._values:
            found = self._values[argument.name]
        written = spelling.write(found)
        if written is not None and layout is not None:
            written = f"{layout}.copy_({written})" if spelling.torch and 0 not in tensor.stride() else None
        if written is not None:
            return written
        name = "x" if argument is None else argument.name
        return self._omit(name, f"{dtype} of shape {list(shape)}, as it was given")


def _write_layout(tensor: Any) -> str | None:
    """A tensor with the strides of a view and random numbers between its elements; `None` if it has no
    others."""
    if isinstance(tensor, np.ndarray):
        if tensor.flags.c_contiguous or not formats.is_float(str(tensor.dtype)):
            return None
        size = 1 + sum((size - 1) * abs(step) for size, step in zip(tensor.shape, tensor.strides))
        base = f'numpy.random.randn({size // tensor.itemsize + 1}).astype("{tensor.dtype}")'
        return f"numpy.lib.stride_tricks.as_strided({base}, {tensor.shape}, {tensor.strides})"
    if tensor.is_contiguous() or not arguments.is_torch(tensor):
        return None
    dtype, size = arguments.dtype_of(tensor), tensor.untyped_storage().nbytes() // tensor.element_size()
    base = f"torch.randn({size}).to(torch.{dtype})" if dtype != "float32" else f"torch.randn({size})"
    return f"{base}.as_strided({tuple(tensor.shape)}, {tensor.stride()}, {tensor.storage_offset()})"


class _Spelling(NamedTuple):
    """A tensor's dtype and shape, as Python."""

    dtype: str
    shape: tuple[int, ...]
    torch: bool

    def write_zeros(self) -> str:
        """A tensor of zeros."""
        if self.torch:
            return f"torch.zeros({self.shape}, dtype=torch.{self.dtype})"
        return self._wrap(f"numpy.zeros({self.shape}")

    def write(self, values: Array) -> str | None:
        """A tensor with these values; `None` if they would be too long."""
        flat = values.reshape(-1)
        # torch's own default.
        spelled = "" if self.dtype == "float32" else f", dtype=torch.{self.dtype}"
        if flat.size and (flat == flat[0]).all():
            first = _write_number(flat[0].item())
            if self.torch:
                return f"torch.full({self.shape}, {first}{spelled})"
            return self._wrap(f"numpy.full({self.shape}, {first}")
        if flat.size <= _MAX_LISTED:
            listed = _write_nested(values.tolist())
            return f"torch.tensor({listed}{spelled})" if self.torch else self._wrap(f"numpy.array({listed}")
        # A NaN is not equal to 0.
        positions = [int(at) for at in np.flatnonzero(flat != 0)]
        if len(positions) > _MAX_SET:
            return None
        if self.torch:
            numbers = ", ".join(_write_number(flat[at].item()) for at in positions)
            put = f"torch.tensor({positions}), torch.tensor([{numbers}]{spelled})"
            return f"torch.zeros({self.shape}{spelled}).put_({put})"
        items = ", ".join(
            f"{tuple(int(one) for one in np.unravel_index(at, self.shape))}: {_write_number(flat[at].item())}"
            for at in positions
        )
        return f'cerith_triton.tensor({{{items}}}, shape={self.shape}, dtype="{self.dtype}")'

    def _wrap(self, array: str) -> str:
        """An array, without its closing parenthesis, with the dtype."""
        if formats.is_float(self.dtype) and self.dtype not in ("float16", "float32", "float64"):
            return f'cerith_triton.tensor({array}), dtype="{self.dtype}")'
        return f'{array}, dtype="{self.dtype}")'


def _write_function(fn: Any, name: str) -> str:
    if " " in name:
        return name.split()[1]
    return f"{name}[grid]" if kernel_of(fn) is not None else name


def _wrap_code(line: str) -> list[str]:
    """A line inside of brackets, which may end after each comma."""
    if any(" " in text for text in re.findall(r"""\"[^"]*\"|'[^']*'""", line)):
        # A line that ends inside of a string is an error.
        return [line]
    return textwrap.wrap(
        line.strip(),
        COLUMNS - 8,
        initial_indent="    ",
        subsequent_indent="        ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _write_nested(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_write_nested(one) for one in value)}]"
    return _write_number(value)


def _write_number(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def limit(lines: Sequence[str], test: Sequence[str]) -> str:
    """The text: wrapped to 80 columns, and no longer than 2 KB. The test is dropped before the problem is."""
    wrapped: list[str] = []
    for line in lines:
        indent = line[: len(line) - len(line.lstrip())] + "  "
        if "|" in line[:12] or len(line) <= COLUMNS:
            wrapped.append(line[:COLUMNS])
        else:
            wrapped += textwrap.wrap(
                line, COLUMNS, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True
            )
    text = "\n".join(wrapped)
    if test:
        with_test = "\n".join([text, "to repeat it:", "", *test])
        if len(with_test.encode()) <= MAX_TEXT:
            return with_test
    while len(text.encode()) > MAX_TEXT:
        wrapped.pop()
        text = "\n".join([*wrapped, "…"])
    return text


def write_html(text: str, ok: bool, trials: Sequence[Trial]) -> str:
    """The comparison for a notebook."""
    rows = []
    for trial in trials:
        for one in trial.outputs or (Output("", trial.verdict, reason=trial.reason),):
            cells = [
                trial.data.kind,
                one.name,
                one.verdict,
                _cell(one.elements),
                _cell(one.wrong + one.inaccurate),
            ]
            cells += ["" if one.worst_ulps is None else f"{one.worst_ulps:.3g}", one.reason]
            rows.append("".join(f"<td>{html.escape(cell)}</td>" for cell in cells))
    heads = ("data", "output", "verdict", "elements", "outside", "worst ulps", "")
    head = "".join(f"<th>{name}</th>" for name in heads)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    colour = "#2e7d32" if ok else "#c62828"
    return (
        f'<div><pre style="border-left: 4px solid {colour}; padding-left: 8px">{html.escape(text)}</pre>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(count: int) -> str:
    return str(count) if count else ""
