"""Launches of TorchInductor's tuner, as far as that goes without a GPU: `gpu.py` has the rest."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Callable

import numpy as np
import pytest
import simple
import triton
from recorded import Memory, compiled

from cerith_triton import tuner
from cerith_triton.failures import Unsayable


def tuner_of(text: str, grid: dict[str, Any] | None = None, **constants: Any) -> Any:
    """A tuner that settled on a launcher with this text."""
    names: dict[str, Any] = {}
    exec(text, names)  # noqa: S102 (as Inductor makes them)
    launcher = names["launcher"]
    launcher.config = triton.Config({"BLOCK": 64}, num_warps=2, num_stages=1)
    return SimpleNamespace(
        fn=simple.add,
        launchers=[launcher],
        triton_meta={"constants": constants},
        inductor_meta=grid or {},
    )


def test_constants_and_the_configuration_go_before_what_is_passed() -> None:
    made = tuner_of("def launcher(x_ptr, out_ptr, n, grid, stream): pass", y_ptr=None)
    assert tuner.is_decided(made)
    decided = tuner.read_decision(made, ("x", "out", 100), (2, 1, 1))
    assert decided.values == {"x_ptr": "x", "y_ptr": None, "out_ptr": "out", "n": 100, "BLOCK": 64}
    assert list(decided.values) == ["x_ptr", "y_ptr", "out_ptr", "n", "BLOCK"]
    assert decided.options == {"num_warps": 2, "num_stages": 1, "num_ctas": 1, "maxnreg": None}
    assert decided.grid == [2, 1, 1]


def test_constants_may_be_named_by_position() -> None:
    made = tuner_of("def launcher(x_ptr, y_ptr, out_ptr, grid, stream): pass")
    made.triton_meta["constants"] = {(3,): 7}
    decided = tuner.read_decision(made, (1, 2, 3), lambda meta: (meta["BLOCK"], 1, 1))
    assert decided.values["n"] == 7
    assert decided.grid == [64, 1, 1]


def test_what_is_nowhere_is_said() -> None:
    made = tuner_of("def launcher(x_ptr, y_ptr, n, stream): pass")
    with pytest.raises(Unsayable, match="does not pass `out_ptr`"):
        tuner.read_decision(made, (1, 2, 3), (1, 1, 1))


def test_several_launchers_are_not_decided() -> None:
    made = tuner_of("def launcher(stream): pass")
    made.launchers *= 2
    assert not tuner.is_decided(made)
    made.launchers = made.launchers[:1]
    made.inductor_meta = {"coordinate_descent_tuning": True}
    assert not tuner.is_decided(made)
    made.launchers[0].config.found_by_coordesc = True
    assert tuner.is_decided(made)


def test_a_grid_is_computed_as_the_launcher_does() -> None:
    heuristics = pytest.importorskip("torch._inductor.runtime.triton_heuristics")
    if not hasattr(heuristics, "GridExpr"):
        pytest.skip("this torch passes grids")
    made = tuner_of("def launcher(x_ptr, y_ptr, out_ptr, n, stream): pass", {"grid_type": "Grid1D"})
    made.launchers[0].config.kwargs = {"XBLOCK": 64, "BLOCK": 64}
    for size, grid in ((100, 2), (64, 1), (1000, 16)):
        made.launchers[0].__code__ = (lambda x, y, out, xnumel, stream: None).__code__
        made.triton_meta["constants"] = dict.fromkeys(simple.add.arg_names)
        assert tuner.read_decision(made, (1, 2, 3, size), None).grid == [grid, 1, 1]


@compiled
def test_what_it_held_before_is_kept(memory: Memory, record: Callable[..., Any]) -> None:
    """The first launch of a tuner is known when it is over."""
    from cerith_triton import hooks
    from cerith_triton.recorder import Call

    x = memory.tensor(np.ones(4, np.float32))

    def run() -> None:
        held = hooks._held([x, 3])
        x._elements()[...] = 0
        values = {"ptr": x, "value": 1.0, "BLOCK": 4}
        for launch in hooks._begun(lambda: Call(simple.fill, "fill", "inductor", values, {}, [1]), held):
            launch.end(None)

    found = record(run)
    (launch,) = found.launches
    assert found.contents(launch, "ptr", "before") == np.ones(4, np.float32).tobytes()
    assert found.contents(launch, "ptr", "after") == bytes(16)
