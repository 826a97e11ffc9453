"""`check`: whether a launcher of Triton kernels computes the same function as a reference.

See `trials` for one set of data, `data` for the kinds, `wording` for the text, and `conforming` for tests.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from . import hooks, judging, wording
from . import inputs as kinds
from .formats import Array
from .inputs import Data
from .trials import SEVERITY, Subject, Trial

# Kernels may be imported after this module.
hooks.prepare()

# Runs and seconds that go into plainer data for a failure, and the elements of tensors that are worth it.
_MAX_RUNS, _MAX_SECONDS, _MAX_ELEMENTS = 40, 5.0, 1 << 14

# Kinds of data with which a right kernel may have no bounds: rounding decides which of several large scores a
# softmax picks.
_ILL_CONDITIONED = ("large", "non-finite")


@dataclass(frozen=True)
class Comparison:
    """The result of `check`. True if the launcher agrees with its reference function."""

    ok: bool
    """Whether it agrees: nothing failed, and every output was compared."""
    verdict: str
    """`agree`, `undecided`, `inaccurate`, `unwritten`, `wrong`, `rejected`, `undefined` or `not judged`."""
    text: str
    """The report: at most 80 columns and 2 KB."""
    seed: int
    """The seed of the data. `check(…, seed=seed)` repeats it."""
    trials: tuple[Trial, ...] = field(default=(), repr=False)
    """The result of each set of data, in order."""
    test: str = field(default="", repr=False)
    """A test that repeats a failure, to paste. Empty if nothing failed."""

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return wording.write_html(self.text, self.ok, self.trials)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.text)


class WrongResult(AssertionError):  # noqa: N818 (a verdict, and no failure of ours)
    """A launcher does not compute its reference function, or was not compared with it. Its text is the
    report."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(comparison.text)
        self.comparison = comparison


def check(
    fn: Callable[..., Any],
    *,
    like: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    like_args: Sequence[Any] | None = None,
    like_kwargs: Mapping[str, Any] | None = None,
    data: str | Sequence[str] = "all",
    seed: int | None = None,
    accumulate: str = "float32",
    tf32: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    engines: Sequence[str] = (),
    raises: bool = True,
) -> Comparison:
    """Checks that a launcher computes the same function as a reference, on any CPU.

        cerith_triton.check(my_softmax, like=torch.softmax, args=[torch.randn(3, 29)], kwargs={"dim": 1})

    No launch of `fn` reaches Triton or a GPU: Cerith's reference interpreter executes it. The bounds of each
    element come from the operations of the kernel, so that no tolerance is needed.

    `fn`: a function that launches kernels and returns tensors (a tensor, a tuple, a dict, a dataclass), or
    `kernel[grid]`. If it returns None, the arguments that it changed are its outputs.

    `like`: the same function in torch, NumPy or Python. It gets its own copies of the arguments, floats
    as float64, and returns the outputs in order or by name.

    `args`, `kwargs`: the arguments of both, of any shape: tensors of torch's, NumPy arrays, or
    `cerith_triton.tensor`. They are copied, and stay as they are. Without torch, `fn` gets stand-ins with
    torch's names. `like_args`, `like_kwargs`: the arguments of `like`, if they differ.

    `data`: `"all"`, or some of the kinds in `cerith_triton.inputs.KINDS` and `"given"`, the arguments as they
    are. Other kinds replace the floats. `seed`: an integer that repeats a run's data; fresh by default.

    `accumulate`: the dtype whose rounding sums, products and functions may have: a kernel that rounds
    more is `inaccurate`. `tf32`: whether a `tl.dot` of float32 may round to TF32.

    `rtol`, `atol`: a tolerance, in place of the bounds: `atol + rtol * abs(expected)`.

    `engines`: further engines that must store the same bytes, such as `"interpret@3.9.0+host"` (`cerith
    run`); they must be installed.

    Returns a `Comparison`. Raises `WrongResult` if it is not `ok` (not with `raises=False`), `ValueError` for
    wrong arguments or another number of outputs, `CerithError` if the program `cerith` fails, and an
    exception of `fn` on the arguments as they were given.
    """
    __tracebackhide__ = True
    plain = dict(kwargs or {})
    subject = Subject(
        fn,
        like,
        args,
        plain,
        args if like_args is None else like_args,
        plain if like_kwargs is None else like_kwargs,
        accumulate,
        tf32,
        rtol,
        atol,
    )
    options = list_options(accumulate, tf32, rtol, atol)
    chosen = kinds.choose_kinds(data, given=True)
    comparison = _check(subject, chosen, make_seed(seed), engines, options)
    if raises and not comparison.ok:
        raise WrongResult(comparison)
    return comparison


def list_options(accumulate: str, tf32: bool, rtol: float | None, atol: float | None) -> dict[str, Any]:
    """The arguments of `check` that are not its defaults."""
    options: dict[str, Any] = {} if accumulate == "float32" else {"accumulate": accumulate}
    options.update({} if tf32 else {"tf32": False})
    options.update({name: value for name, value in (("rtol", rtol), ("atol", atol)) if value is not None})
    return options


def make_seed(seed: int | None) -> int:
    """A seed for data: the caller's, or a fresh one. Raises `ValueError` for a negative one."""
    if seed is not None and seed < 0:
        raise ValueError(f"the seed is {seed}: use a number from 0 on")
    return secrets.randbits(32) if seed is None else int(seed)


def _check(
    subject: Subject, chosen: Sequence[str], seed: int, engines: Sequence[str], options: Mapping[str, Any]
) -> Comparison:
    __tracebackhide__ = True
    if not engines:
        return compare(subject, chosen, seed, options)
    folder = Path(tempfile.mkdtemp(prefix="cerith-"))
    try:
        subject.parts = folder / "parts"
        subject.parts.mkdir()
        comparison = compare(subject, chosen, seed, options)
        if not comparison.ok:
            return comparison
        judging.collect(subject.parts, folder / "recording", "every")
        report = judging.judge(folder / "recording", engines, False, True, base=["reference"])
        if report.failed:
            lines = [f"{subject.name}: engines disagree: {report.numbers()}", *report.words.splitlines()]
            text = wording.limit(lines, ())
            return Comparison(False, "wrong", text, seed, comparison.trials)
        return comparison
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def compare(
    subject: Subject,
    chosen: Sequence[str],
    seed: int,
    options: Mapping[str, Any] | None = None,
    reduces: bool = True,
) -> Comparison:
    """Tries kinds of data in order, the plainest first, until one fails. With `reduces`, its data is reduced
    to few values."""
    __tracebackhide__ = True
    if not subject.can_vary:
        # There is nothing to vary, or `like` has tensors of its own.
        chosen = [name for name in chosen if name == kinds.GIVEN] or [kinds.GIVEN]
    trials: list[Trial] = []
    failing: Trial | None = None
    for name in chosen:
        trial = subject.run(Data(name, seed))
        trials.append(trial)
        if not trial.fails:
            continue
        # Plainer data than the given may fail too.
        failing = _choose(failing, trial)
        if trial.outcome is not None or trial.verdict == "unwritten" or name != kinds.GIVEN:
            break
    values: dict[str, Array] | None = None
    if reduces and failing is not None and failing.verdict in ("wrong", "inaccurate"):
        failing, values = reduce_values(subject, failing)
    uncompared = [] if failing is not None else _find_uncompared(trials)
    compared = any(trial.verdict != "skipped" for trial in trials)
    lines = wording.describe(subject, trials, failing, uncompared, seed)
    if failing is None:
        ok = compared and not uncompared
        verdict = "agree" if ok else "undecided" if compared else "not judged"
        return Comparison(ok, verdict, wording.limit(lines, ()), seed, tuple(trials))
    test = wording.CodeWriter(subject, failing.data, values).write(options or {})
    text = wording.limit(lines, test)
    return Comparison(False, failing.verdict, text, seed, tuple(trials), "\n".join(test) + "\n")


def _choose(given: Trial | None, trial: Trial) -> Trial:
    """The trial to report: the plainer one, unless the given data shows a worse problem."""
    if given is None:
        return trial
    return max(trial, given, key=lambda one: SEVERITY.index(one.verdict))


def _find_uncompared(trials: Sequence[Trial]) -> list[str]:
    """Outputs without one element that was compared, and outputs with an element that has neither bounds nor
    the reference's value. Outputs that the reference function leaves out on purpose, by naming the others,
    are not among them."""
    decided: dict[str, int] = {}
    empty, unbounded = set(), set()
    for trial in trials:
        for one in trial.outputs:
            if one.verdict == "undecided" and one.reason.endswith(f"returns no `{one.name}`"):
                continue
            decided[one.name] = decided.get(one.name, 0) + one.decided
            if one.verdict == "agree" and not one.elements:
                empty.add(one.name)
            if one.undecided and (one.distant or trial.data.kind not in _ILL_CONDITIONED):
                unbounded.add(one.name)
    return [name for name, count in decided.items() if (not count and name not in empty) or name in unbounded]


def reduce_values(subject: Subject, failing: Trial) -> tuple[Trial, dict[str, Array] | None]:
    """A failing trial with plainer data: as many elements as possible are 0. The data is None if none was
    found."""
    varied = subject.varied
    positions = {one.name: at for at, one in enumerate(subject.arguments)}
    if not varied or not subject.can_vary or sum(np.prod(one.shape) for one in varied) > _MAX_ELEMENTS:
        return failing, None
    values = {one.name: _values_of(one, positions[one.name], failing.data) for one in varied}
    ended = time.monotonic() + _MAX_SECONDS
    runs, best, found = 0, failing, False
    problem = wording.find_failing(failing)

    def try_values(candidate: dict[str, Array]) -> bool:
        nonlocal runs, best, found
        runs += 1
        try:
            trial = subject.run(failing.data, candidate)
        except Exception:  # noqa: BLE001 (the launcher refuses this data)
            return False
        if trial.verdict != failing.verdict or wording.find_failing(trial).name != problem.name:
            return False
        best, found = trial, True
        return True

    parts = 2
    while runs < _MAX_RUNS and time.monotonic() < ended:
        places = [(name, at) for name, one in values.items() for at in np.flatnonzero(one != 0)]
        if not places:
            break
        parts = min(parts, len(places))
        smaller = False
        for chunk in np.array_split(np.arange(len(places)), parts):
            if runs >= _MAX_RUNS or time.monotonic() > ended:
                break
            candidate = {name: one.copy() for name, one in values.items()}
            for index in chunk:
                name, at = places[index]
                candidate[name].reshape(-1)[at] = 0
            if try_values(candidate):
                values, smaller = candidate, True
                break
        if smaller:
            parts = max(parts // 2, 2)
        elif parts == len(places):
            break
        else:
            parts *= 2
    return (best, values) if found else (failing, None)


def _values_of(argument: Any, position: int, chosen: Data) -> Array:
    from .arguments import read_values

    if chosen.kind == kinds.GIVEN:
        return np.ascontiguousarray(read_values(argument.tensor))
    return np.ascontiguousarray(kinds.fill(chosen, position, argument.shape, argument.dtype))
