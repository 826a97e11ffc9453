"""The program `check`: a launcher of a file is compared with a reference function, on given arguments.

See `checking` for a comparison.
"""

from __future__ import annotations

import importlib
import inspect
import time
from typing import Any, Callable, Mapping, Sequence

from . import arguments as tensors
from . import checking, conforming, wording
from . import inputs as kinds
from .checking import Comparison
from .conforming import Conformance, Point
from .failures import message_of
from .program import Channel, find_function, load_module
from .trials import SEVERITY

# Kinds of data for all arguments but the first ones, which get all kinds.
_FEW = ("integers", "distinct", "normal")


def serve(channel: Channel, path: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Compares a launcher of the file with a reference function at each of the given calls.

    `request` names the `launcher`, the function `like` (a file and a function of it, or a module and a
    function), the `calls`, each with a name and arguments, and the `settings` of `check`. No call begins
    after `seconds`.
    """
    module = load_module(path, request["root"], request["module"])
    fn = find_function(module, request["launcher"])
    source, name = request["like"]
    like = find_function(module, name) if source == path else find_reference(source, name)
    settings = dict(request["settings"])
    seed = checking.make_seed(settings.pop("seed", None))
    ended = time.monotonic() + float(request["seconds"])
    calls: list[Mapping[str, Any]] = list(request["calls"])
    compared: list[tuple[str, Comparison]] = []
    problems: dict[str, str] = {}
    for number, call in enumerate(calls):
        if number and time.monotonic() > ended:
            problems.update({one["name"]: "there was no time left" for one in calls[number:]})
            break
        dropped = find_dropped(like, calls[0]["arguments"], call["arguments"])
        if dropped is not None:
            problems[call["name"]] = f"{name} has no parameter `{dropped}`"
            continue
        chosen = kinds.choose_kinds("all", given=False) if number == 0 else _FEW
        try:
            comparison = compare(fn, like, call["arguments"], chosen, settings, seed, ended)
        except ValueError as error:
            # For these arguments, the two have different outputs.
            problems[call["name"]] = message_of(error)
            continue
        if comparison.verdict == "not judged":
            problems[call["name"]] = comparison.text.partition("\n")[0]
            continue
        compared.append((call["name"], comparison))
        if not comparison.ok:
            break
    return summarise(compared, problems, seed)


def find_reference(source: str, name: str) -> Callable[..., Any]:
    """A function of a file, or of an installed module such as `torch.nn.functional`."""
    is_file = source.endswith(".py")
    return find_function(load_module(source) if is_file else importlib.import_module(source), name)


def compare(
    fn: Callable[..., Any],
    like: Callable[..., Any],
    call: Sequence[Mapping[str, Any]],
    chosen: Sequence[str],
    settings: Mapping[str, Any],
    seed: int,
    ended: float,
) -> Comparison:
    """The comparison at one call, with the smallest shapes that fail."""
    shapes, dtypes, layouts, kwargs = {}, {}, {}, {}
    for one in call:
        name = str(one["name"])
        if "shape" in one:
            shapes[name] = tuple(one["shape"])
            dtypes[name] = str(one["dtype"])
            layouts[name] = str(one["layout"])
        else:
            kwargs[name] = read_value(one["value"])
    points = [Point(shapes, dtypes, kind, layouts) for kind in chosen]
    own = _choose_kwargs(like, kwargs)
    return Conformance(fn, like, points, kwargs, own, settings, seed).compare_all(seed, ended)


def read_value(value: Any) -> Any:
    """A value of the request: JSON's own, a list, or a dict with a `dtype`, a `float` or a `tensor`."""
    if isinstance(value, list):
        return [read_value(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "tensor" in value:
        return conforming.make_argument(tuple(value["tensor"]["shape"]), value["tensor"]["dtype"])
    module, _, name = str(value["dtype"]).rpartition(".")
    found = tensors.torch_of() if module == "torch" else importlib.import_module("triton.language")
    return getattr(found, name) if found is not None else name


def find_dropped(
    like: Callable[..., Any], plain: Sequence[Mapping[str, Any]], call: Sequence[Mapping[str, Any]]
) -> str | None:
    """An argument of a call that a reference function has no parameter for, and that differs from the plain
    call's: with another flag, the launcher may compute another function."""
    values = {str(one["name"]): one["value"] for one in plain if "value" in one}
    names = _parameters_of(like)
    for one in call:
        if names is not None and "value" in one and one["name"] not in names:
            if values.get(str(one["name"])) != one["value"]:
                return str(one["name"])
    return None


def _parameters_of(like: Callable[..., Any]) -> set[str] | None:
    """The names of a function's parameters, or None for a function that takes any."""
    try:
        parameters = inspect.signature(like).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
        return None
    return {one.name for one in parameters}


def _choose_kwargs(like: Callable[..., Any], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values that a reference function has parameters for, as it has no block sizes, or None for all."""
    names = _parameters_of(like)
    if names is None or kwargs.keys() <= names:
        return None
    return {name: kwargs[name] for name in kwargs if name in names}


def summarise(
    compared: Sequence[tuple[str, Comparison]], problems: Mapping[str, str], seed: int
) -> dict[str, Any]:
    """The answer: about the worst comparison, or about all. Calls that were not compared are listed."""
    if not compared:
        first = next(iter(problems.values()), "it has no calls")
        text = f"no call was compared: {first}"
        return {"verdict": "not judged", "text": text, "test": "", "left": len(problems)}
    name, worst = max(compared, key=lambda one: SEVERITY.index(one[1].verdict))
    if worst.ok:
        text = wording.describe_agreement([one for _, one in compared], seed)
    else:
        problem, repeats, test = worst.text.rstrip().partition("\nto repeat it:\n")
        text = f"{problem}\n  arguments: {name}{repeats}{test}"
    reasons: dict[str, list[str]] = {}
    for call, reason in problems.items():
        reasons.setdefault(reason, []).append(call)
    lines = [f"  not compared: {'; '.join(calls)}: {reason}" for reason, calls in reasons.items()]
    if lines:
        text = text.rstrip() + "\n" + wording.limit(lines, ())
    return {
        "verdict": worst.verdict,
        "text": text,
        "test": worst.test,
        "left": len(problems),
    }
