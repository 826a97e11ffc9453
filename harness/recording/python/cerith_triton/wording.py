"""The text and the HTML of a comparison: at most 80 columns and 2 KB, so that a model or a terminal reads it.

It begins with the problem, and ends with a test that repeats it.
"""

from __future__ import annotations

import html
import math
import textwrap
from typing import Any, Mapping, Sequence

import numpy as np

from . import arguments, data, formats
from .arguments import Argument
from .data import Data
from .formats import Array
from .trials import Example, Output, Subject, Trial

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


def _largest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _describe_problem(subject: Subject, failing: Trial) -> str:
    outcome = failing.outcome
    if outcome is not None:
        if failing.verdict == "not judged":
            return f"{subject.name} was not judged: {outcome.outcome}: {_first_line(outcome.text)}"
        return f"{subject.name} is {failing.verdict}: {_first_line(outcome.text)}"
    worst = find_failing(failing)
    if worst.verdict == "unwritten":
        return f"{subject.name}: `{worst.name}` was not written by a launch: {worst.reason}"
    count = worst.wrong if worst.verdict == "wrong" else worst.inaccurate
    where = f"{count} of {worst.elements} elements of `{worst.name}`"
    if worst.verdict == "wrong":
        return f"{subject.name} is not {subject.reference}: {where} are wrong"
    return (
        f"{subject.name} computes {subject.reference}, and {where} are less accurate than the contract"
        f"{_ulps(worst)}"
    )


def _ulps(one: Output) -> str:
    if one.worst_ulps is None:
        return ""
    allowed = "" if one.allowed_ulps is None else f" of {one.allowed_ulps:.3g} allowed"
    return f": {one.worst_ulps:.3g} ulps{allowed}"


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


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
    if one.reason and one.verdict != "unwritten":
        lines.append(f"  {one.reason}")
    where = [f"in {failing.operation}" if failing.operation else "", one.kernel]
    if any(where):
        lines.append(f"  {', '.join(part for part in where if part)}")
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
        lines.append(f"  allowed: {_number(example.low)} to {_number(example.high)}")
    if one.worst_ulps is not None:
        allowed = "" if one.allowed_ulps is None else f", {one.allowed_ulps:.3g} allowed"
        lines.append(f"  worst: {one.worst_ulps:.3g} ulps{allowed}")
    return lines


def _number(value: float) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _describe_data(trials: Sequence[Trial], failing: Trial | None, seed: int) -> list[str]:
    lines = []
    if failing is not None:
        lines.append(f"  data: {failing.data.kind}: {failing.data.purpose}")
    passed = [trial.data.kind for trial in trials if trial.verdict in ("agree", "undecided")]
    failed = [trial.data.kind for trial in trials if trial.fails and trial is not failing]
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


def write_test(
    subject: Subject,
    chosen: Data,
    values: Mapping[str, Array] | None,
    options: Mapping[str, Any],
) -> list[str]:
    """A test that repeats a failure, to paste. `values` are the data of each argument, if it was reduced."""
    literal = values is not None or chosen.kind == data.GIVEN

    def write(value: Any) -> str:
        return _write_value(subject, value, values, literal)

    name = subject.name.rpartition(".")[2]
    fn = _source_name(subject.fn, subject.name)
    lines = [
        f"def test_{name}():",
        "    cerith_triton.check(",
        f"        {fn},",
        f"        like={_source_name(subject.like, subject.reference)},",
    ]
    sides = [("args", subject.args), ("kwargs", subject.kwargs)]
    if subject.like_args is not subject.args:
        sides.append(("like_args", subject.like_args))
    if subject.like_kwargs is not subject.kwargs:
        sides.append(("like_kwargs", subject.like_kwargs))
    for side, given in sides:
        if isinstance(given, Mapping):
            items = ", ".join(f'"{key}": {write(one)}' for key, one in given.items())
            shown = f"{{{items}}}"
        else:
            shown = f"[{', '.join(write(one) for one in given)}]"
        if given or side.startswith("like"):
            lines.append(f"        {side}={shown},")
    lines += [f"        {key}={value!r}," for key, value in options.items()]
    lines.append('        data="given",' if literal else f'        data="{chosen.kind}",')
    if not literal:
        lines.append(f"        seed={chosen.seed},")
    lines.append("    )")
    return lines


def _source_name(fn: Any, name: str) -> str:
    if getattr(fn, "__name__", None) == "<lambda>":
        return f"{name}[grid]" if name != "<lambda>" else "…"
    return name


def _write_value(subject: Subject, value: Any, values: Mapping[str, Array] | None, literal: bool) -> str:
    if arguments.is_tensor(value):
        argument = next((one for one in subject.arguments if one.tensor is value), None)
        return _write_tensor(value, argument, values, literal)
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{k!r}: {_write_value(subject, v, values, literal)}" for k, v in value.items())
            + "}"
        )
    if type(value) in (list, tuple):
        inner = ", ".join(_write_value(subject, one, values, literal) for one in value)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    text = repr(value)
    return text if len(text) <= COLUMNS else f"…  # a {type(value).__qualname__}"


def _write_tensor(
    tensor: Any, argument: Argument | None, values: Mapping[str, Array] | None, literal: bool
) -> str:
    torch = arguments.is_torch(tensor)
    dtype, shape = arguments.dtype_of(tensor), tuple(int(size) for size in tensor.shape)
    varied = argument is not None and argument.varied
    spelled = f"dtype=torch.{dtype}" if torch else f'dtype="{dtype}"'
    if varied and not literal:
        # The data replaces its values.
        maker = "torch" if torch else "numpy"
        if not torch and dtype not in ("float16", "float32", "float64"):
            return f"cerith_triton.tensor(numpy.zeros({shape}), {spelled})"
        return f"{maker}.zeros({shape}, {spelled})"
    known = values.get(argument.name) if values is not None and argument is not None else None
    found = arguments.read_values(tensor) if known is None else known
    return _write_array(found, dtype, shape, torch, spelled)


def _write_array(found: Array, dtype: str, shape: tuple[int, ...], torch: bool, spelled: str) -> str:
    wrap = "{}"
    if not torch and formats.is_float(dtype) and dtype not in ("float16", "float32", "float64"):
        wrap, spelled_in = f"cerith_triton.tensor({{}}, {spelled})", ""
    else:
        spelled_in = f", {spelled}"
    maker = "torch" if torch else "numpy"
    flat = found.reshape(-1)
    if flat.size and (flat == flat[0]).all():
        first = flat[0].item()
        return wrap.format(f"{maker}.full({shape}, {_literal(first)}{spelled_in})")
    if flat.size <= _MAX_LISTED:
        listed = _write_nested(found.tolist())
        return wrap.format(f"{'torch.tensor' if torch else 'numpy.array'}({listed}{spelled_in})")
    set_elements = (
        np.flatnonzero((flat != 0) | np.isnan(flat)) if found.dtype.kind == "f" else range(_MAX_SET + 1)
    )
    if len(set_elements) <= _MAX_SET:
        at = ", ".join(str(int(one)) for one in set_elements)
        to = ", ".join(_literal(flat[one].item()) for one in set_elements)
        if torch:
            return (
                f"torch.zeros({shape}, {spelled}).put_(torch.tensor([{at}]), torch.tensor([{to}], {spelled}))"
            )
        eye = f"(numpy.eye({flat.size})[[{at}]] * numpy.array([{to}])[:, None]).sum(0).reshape({shape})"
        return f"cerith_triton.tensor({eye}, {spelled})"
    return f"…  # {dtype} of shape {list(shape)}, as it was given"


def _write_nested(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_write_nested(one) for one in value)}]"
    return _literal(value)


def _literal(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, float) and value == int(value) and abs(value) < 1e6:
        return f"{int(value)}.0"
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
