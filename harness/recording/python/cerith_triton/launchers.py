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
from . import data as kinds
from .checking import Comparison
from .conforming import Conformance, Point
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
    comparisons: list[tuple[str, Comparison]] = []
    for number, call in enumerate(request["calls"]):
        if number and time.monotonic() > ended:
            break
        chosen = kinds.choose_kinds("all", given=False) if number == 0 else _FEW
        comparison = compare(fn, like, call["arguments"], chosen, settings, seed)
        comparisons.append((call["name"], comparison))
        if comparison.verdict not in ("agree", "undecided", "not judged"):
            break
    return summarise(comparisons, len(request["calls"]), seed)


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
    return Conformance(fn, like, points, kwargs, own, settings, seed).compare_all(seed)


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


def _choose_kwargs(like: Callable[..., Any], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values that a reference function has parameters for: it has no block sizes; None if it
    may have all."""
    try:
        parameters = inspect.signature(like).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
        return None
    names = {one.name for one in parameters}
    return None if kwargs.keys() <= names else {name: kwargs[name] for name in kwargs if name in names}


def summarise(comparisons: Sequence[tuple[str, Comparison]], count: int, seed: int) -> dict[str, Any]:
    """The answer: of the worst comparison, or of all."""
    name, worst = max(comparisons, key=lambda one: SEVERITY.index(one[1].verdict))
    judged = [one for _, one in comparisons if one.verdict != "not judged"]
    text = worst.text
    if all(one.ok for one in judged) and judged:
        text = wording.describe_agreement([one for one in judged if one.ok], seed)
        worst = judged[0]
    elif name:
        problem, repeats, test = worst.text.rstrip().partition("\nto repeat it:\n")
        text = f"{problem}\n  arguments: {name}{repeats}{test}"
    return {
        "verdict": worst.verdict,
        "ok": worst.ok,
        "text": text,
        "test": worst.test,
        "seed": seed,
        "calls": len(judged),
        "left": count - len(judged),
        "reasons": sorted(
            {one.text.partition("\n")[0] for _, one in comparisons if one.verdict == "not judged"}
        ),
        "trials": sum(trial.verdict != "skipped" for one in judged for trial in one.trials),
    }
