"""Launches of TorchInductor's own tuner, from torch 2.5 on: the values of every parameter, as the launcher
that it settled on passes them."""

from __future__ import annotations

from types import CodeType
from typing import Any, Callable, NamedTuple, Sequence
from weakref import WeakKeyDictionary

from .failures import Unsayable
from .storages import Storages

# Options that a configuration or a compiled kernel holds.
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


class Decided(NamedTuple):
    """A launch with the configuration that was chosen."""

    values: dict[str, Any]
    options: dict[str, Any]
    grid: Sequence[int]


def is_decided(tuner: Any) -> bool:
    """Whether the next launch only launches."""
    launchers = tuner.launchers
    return len(launchers) == 1 and not (
        tuner.inductor_meta.get("coordinate_descent_tuning", False)
        and not getattr(launchers[0].config, "found_by_coordesc", False)
    )


def read_decision(tuner: Any, args: Sequence[Any], grid: Any) -> Decided:
    """What a launch with `args` is, once `is_decided`."""
    launcher = tuner.launchers[0]
    config = launcher.config
    code = launcher.__code__
    bound = dict(zip(code.co_varnames[: code.co_argcount], args))
    names = list(tuner.fn.arg_names)
    constants = {parameter_of(key, names): value for key, value in tuner.triton_meta["constants"].items()}
    constants.update(config.kwargs)
    values = {}
    for name in names:
        # A launcher may be given some number in the place of None.
        if name not in constants and name not in bound:
            raise Unsayable(f"its launcher does not pass `{name}`")
        values[name] = constants[name] if name in constants else bound[name]
    options = {name: getattr(config, name, None) for name in OPTIONS}
    if grid is None:
        grid = _grid(tuner, launcher)(bound)
    elif callable(grid):
        # One that Inductor wrote.
        grid = grid(dict(config.kwargs))
    return Decided(values, options, [int(size) for size in grid])


def parameter_of(key: object, names: list[str]) -> object:
    """The parameter that a key of the metadata means: its name, or its position."""
    while isinstance(key, tuple) and len(key) == 1:
        key = key[0]
    return names[key] if isinstance(key, int) and key < len(names) else key


_grids: WeakKeyDictionary[Any, Callable[[dict[str, Any]], list[int]]] = WeakKeyDictionary()


def _grid(tuner: Any, launcher: Any) -> Callable[[dict[str, Any]], list[int]]:
    """What computes the grid of a launcher, which from torch 2.7 on does so by itself."""
    known = _grids.get(launcher)
    if known is not None:
        return known
    from torch._inductor.runtime.triton_heuristics import GridExpr

    expression = GridExpr.from_meta(tuner.inductor_meta, launcher.config)
    before = [compile(line, "<grid>", "exec") for line in expression.prefix]
    sizes: list[CodeType] = [
        compile(str(size), "<grid>", "eval")
        for size in (expression.x_grid, expression.y_grid, expression.z_grid)
    ]

    def compute_grid(bound: dict[str, Any]) -> list[int]:
        scope = dict(bound)
        for line in before:
            exec(line, scope)  # noqa: S102 (as the launcher does)
        return [eval(size, scope) for size in sizes]

    _grids[launcher] = compute_grid
    return compute_grid


def copy_contents(args: Sequence[Any], most: int) -> dict[int, bytes]:
    """The bytes of the storages that are arguments, up to `most` of each, by their addresses."""
    storages = Storages()
    for argument in args:
        if hasattr(argument, "data_ptr"):
            storages.index(argument, "")
    return {storage.address: storage.read() for storage in storages.all if storage.size <= most}
