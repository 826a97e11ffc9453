"""`check` with real launches, beside any Triton, without a GPU: against a small program in place of `cerith`.

The tests of comparisons with the real program are in `test_oracle.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Iterator

import compared
import compared_tuned
import numpy as np
import pytest
import triton

import cerith_triton
from cerith_triton import CerithError, WrongResult, binary, hooks

FAKE = Path(__file__).parent / "fake_oracle.py"


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A program that starts this Python."""
    program = tmp_path / "cerith"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{FAKE}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv(binary.VARIABLE, str(program))
    yield tmp_path
    assert hooks.executor is None


def right(x: Any) -> Any:
    return compared.launch(compared.double, x)


def wrong(x: Any) -> Any:
    return compared.launch(compared.wrong_double, x)


def idle_in(x: Any, out: Any) -> Any:
    compared.idle[(3,)](x, out, 35, BLOCK=16)
    return out


def twice(x: Any) -> Any:
    return x * 2


X = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)


def check(fn: Any, like: Any = twice, **options: Any) -> cerith_triton.Comparison:
    given: dict[str, Any] = {"args": [X], "data": ["given", "zeros", "integers"], "seed": 5, **options}
    return cerith_triton.check(fn, like=like, raises=False, **given)


def test_a_launcher_that_is_right_agrees() -> None:
    before = X.copy()
    found = check(right)
    assert found and found.verdict == "agree" and found.test == ""
    assert found.text.startswith("right agrees with twice: 105 elements in 3 sets of data\n")
    assert [trial.launches for trial in found.trials] == [1, 1, 1]
    assert np.array_equal(X, before)
    assert check(right, data="all").ok
    fresh = cerith_triton.check(right, like=twice, args=[X], data="ties")
    assert fresh.ok and fresh.seed != cerith_triton.check(right, like=twice, args=[X], data="ties").seed


def test_a_wrong_launcher_is_reported_with_the_plainest_data() -> None:
    found = check(wrong)
    assert not found and found.verdict == "wrong"
    assert [trial.data.kind for trial in found.trials] == ["given", "zeros", "integers"]
    for part in (
        "wrong does not compute twice: 1 of 35 elements of `output 0` are wrong\n",
        "  most of it is lost in `mul` at k.py:14\n  launch 1 of wrong_double\n",
        "  fails with given too\n  agrees with: zeros\n  seed: 5\n",
    ):
        assert part in found.text
    # The test that is printed repeats it, with a single element that is not 0.
    scope = {"cerith_triton": cerith_triton, "wrong": wrong, "twice": twice, "numpy": np}
    exec(found.test, scope)  # noqa: S102
    with pytest.raises(WrongResult, match="1 of 35 elements"):
        scope["test_wrong"]()


def test_the_result_raises_unless_it_is_asked_not_to() -> None:
    with pytest.raises(WrongResult, match="wrong does not compute twice") as raised:
        cerith_triton.check(wrong, like=twice, args=[X], data="given")
    assert isinstance(raised.value, AssertionError)
    assert raised.value.comparison.verdict == "wrong"
    assert "<table>" in raised.value.comparison._repr_html_()


def test_outputs_of_a_launcher_without_a_result_are_the_changed_arguments() -> None:
    def in_place(x: Any, out: Any) -> None:
        compared.double[(3,)](x, out, 35, BLOCK=16)

    out = np.full_like(X, 9)
    assert check(in_place, lambda x, out: x * 2, args=[X, out]).ok
    assert check(in_place, lambda x, out: {"out": x * 2}, args=[X, out]).ok
    found = check(in_place, lambda x, out: x * 3, args=[X, out])
    assert [one.name for one in found.trials[0].outputs] == ["out"]
    assert (out == 9).all()
    found = check(in_place, lambda x, out: (x * 2, x), args=[X, out])
    assert found.verdict == "unwritten"
    assert "its launches changed `out`, and the reference function returns 2 values" in found.text.replace(
        "\n  ", " "
    )
    with pytest.raises(ValueError, match="returns `x_ptr`, which in_place does not"):
        check(in_place, lambda x, out: {"x_ptr": x}, args=[X, out])


def test_a_kernel_is_a_launcher() -> None:
    out = np.zeros_like(X)
    options = {"args": [X, out, 35], "kwargs": {"BLOCK": 16}, "like_args": [X], "like_kwargs": {}}
    found = check(compared.double[(3,)], **options)
    assert found.ok and found.text.startswith("double agrees with twice")
    assert found.trials[0].outputs[0].name == "out_ptr"
    found = check(compared.wrong_double[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)], **options)
    assert found.verdict == "wrong" and "wrong_double[grid]" in found.test


def test_views_and_named_outputs_are_compared() -> None:
    def named(x: Any) -> Any:
        out = compared.launch(compared.double, x)
        return {"turned": out.T, "row": out[1], "none": None}

    assert check(named, lambda x: {"turned": x.T * 2, "row": x[1] * 2}).ok
    found = check(named, lambda x: {"turned": x.T * 2})
    assert found.ok and "not compared: `row`: the reference function returns no `row`" in found.text
    found = check(named, lambda x: {"turned": x.T * 2, "row": x[2] * 2})
    assert found.verdict == "wrong" and "7 elements of `row`" in found.text
    found = check(named, lambda x: {"turned": x * 2})
    assert "its shape is [7, 5], and the reference function returns [5, 7]" in found.text


def test_outputs_that_no_launch_wrote_are_reported() -> None:
    def idle(x: Any) -> Any:
        return compared.launch(compared.idle, x)

    found = check(idle)
    assert found.text.startswith("idle: `output 0` was not written by a launch: no launch changed it\n")
    found = check(lambda x: x)
    assert found.text.startswith(
        "the launcher: `output 0` was not written by a launch: no kernel was launched\n"
    )
    # Its bytes are not right by chance.
    assert check(idle, data="zeros").verdict == "unwritten"
    cleared = check(lambda x: idle_in(x, x.new_zeros(x.shape)), data="zeros")
    assert cleared.ok


def test_a_launch_that_does_not_finish_fails_even_if_the_launcher_goes_on() -> None:
    def past(x: Any) -> Any:
        try:
            return compared.launch(compared.past, x)
        except Exception:  # noqa: BLE001 (as careless launchers do)
            return compared.launch(compared.double, x)

    found = check(past)
    assert (found.verdict, found.trials[0].outcome.code) == ("undefined", "out-of-bounds")
    assert found.text.startswith("past is undefined: out-of-bounds: load of 4 bytes\n")
    assert "x = tl.load(…)" in found.text

    @triton.jit
    def unknown(x_ptr):  # noqa: ANN001, ANN202
        pass

    found = check(lambda x: unknown[(1,)](x))
    assert found.verdict == "not judged" and not found.ok


def test_tuners_take_the_first_configuration_and_forget_it() -> None:
    tuner = compared_tuned.tuned
    found = check(compared_tuned.launch_tuned)
    assert found.ok, found.text
    note = "note: `tuned` runs with the first of its 3 configurations: BLOCK: 2"
    assert note in found.text.replace("\n    ", " ")
    assert not tuner.cache


def test_a_reference_that_raises_is_skipped_and_one_that_launches_is_an_error() -> None:
    def picky(x: Any) -> Any:
        if not x.any():
            raise ValueError("only zeros")
        return x * 2

    found = check(right, picky)
    assert found.ok and "skipped zeros: picky raised ValueError: only zeros" in found.text
    found = check(right, lambda x: 1 / 0)
    assert not found.ok and found.verdict == "not judged"
    with pytest.raises(CerithError, match="the reference function launches the kernel `double`"):
        check(right, lambda x: right(cerith_triton.tensor(X)))


def test_exceptions_of_the_launcher_are_its_own() -> None:
    def refuses(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        check(refuses)

    def refuses_zeros(x: Any) -> Any:
        if not any(x.reshape(-1).tolist()):
            raise KeyError("zeros")
        return right(x)

    found = check(refuses_zeros)
    assert found.ok and "skipped zeros: refuses_zeros raised KeyError: 'zeros'" in found.text
    with pytest.raises(TypeError, match=r"double\(\) has no value for `n`"):
        check(lambda x: compared.double[(1,)](x, x, BLOCK=16))


def test_arguments_that_do_not_vary_stay() -> None:
    index = np.arange(35, dtype=np.int64)
    seen: list[Any] = []

    def like(x: Any, index: Any, scale: float) -> Any:
        seen.append((x.dtype, index.copy(), scale))
        return x * 2

    assert check(lambda x, index, scale: right(x), like, args=[X, index], kwargs={"scale": 0.5}).ok
    assert all(
        kind == np.float64 and np.array_equal(one, index) and scale == 0.5 for kind, one, scale in seen
    )
    # The reference function has a tensor of its own: only the data that was given belongs to it.
    found = check(right, like_args=[X.copy()])
    assert [trial.data.kind for trial in found.trials] == ["given"]


def test_bfloat16_is_a_stand_in_without_torch() -> None:
    x = cerith_triton.tensor(X, dtype="float16")
    seen: list[Any] = []

    def like(x: Any) -> Any:
        seen.append(x)
        return x * 2

    assert check(right, like, args=[x]).ok
    assert np.array_equal(seen[0], X.astype(np.float16).astype(np.float64))


def test_arrays_of_the_launcher_are_outputs_too() -> None:
    def with_numpy(x: Any) -> Any:
        out = np.empty(x.shape, np.float32)
        compared.double[(3,)](x, out, 35, BLOCK=16)
        return out

    assert check(with_numpy).ok


def test_a_program_that_fails_is_an_error(fake: Path) -> None:
    (fake / "cerith").write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    with pytest.raises(CerithError, match="`cerith oracle` .*broken"):
        check(right)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": "random"}, "no data `random`"),
        ({"seed": -1}, "the seed is -1"),
        ({"accumulate": "int8"}, "no contract `int8`: accumulate in float16"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check(right, **options)


def test_points_have_ids_and_fail_at_the_smallest_shape() -> None:
    @cerith_triton.conforms(
        like=twice,
        shapes=[(3, 29), {"x": (8,)}],
        dtypes=["float32", "float16"],
        data=["zeros", "ties"],
        seed=1,
    )
    def doubled(x: Any) -> Any:
        return compared.launch(compared.double, x)

    assert [point.id for point in doubled.points][:3] == [
        "shape=3x29-dtype=float32-data=zeros",
        "shape=3x29-dtype=float32-data=ties",
        "shape=3x29-dtype=float16-data=zeros",
    ]
    assert len(doubled.points) == 8 and all(doubled.run())
    assert doubled.__name__ == "doubled"

    broken = cerith_triton.conforms(like=twice, shapes=[(3, 29)], data="ties", seed=1)(wrong)
    with pytest.raises(WrongResult, match="1 of 1 elements of `output 0` are wrong"):
        broken.run()


POINTS = """
import cerith_triton
import pytest
conforms = cerith_triton.conforms

import compared

def twice(x):
    return x * 2

@conforms(like=twice, shapes=[(3, 29), (8,)], data=["zeros", "ties"])
def doubled(x):
    return compared.launch(compared.double, x)

@conforms(like=twice, shapes=[(3, 29)], data="ties", seed=1)
def broken(x):
    return compared.launch(compared.wrong_double, x)

skipped = pytest.mark.skip(broken)
"""


def test_pytest_has_a_test_for_each_point(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ":".join(path for path in sys.path if path))
    pytester.makepyfile(POINTS)
    result = pytester.runpytest_subprocess(
        "-p", "cerith_triton.pytest_plugin", "-p", "no:cacheprovider", "-v"
    )
    result.assert_outcomes(passed=4, skipped=2)
    pytester.makepyfile(POINTS.replace("skipped =", "0 and "))
    result = pytester.runpytest_subprocess(
        "-p", "cerith_triton.pytest_plugin", "-p", "no:cacheprovider", "-v"
    )
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*::doubled[[]shape=3x29-dtype=float32-data=zeros[]] PASSED*",
            "*::broken[[]shape=3x29-dtype=float32-data=ties[]] FAILED*",
            "broken does not compute twice: 1 of 1 elements of `output 0` are wrong",
        ]
    )
    result.stdout.no_fnmatch_line("*conforming.py*")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shapes": [[(3,)]]}, "the parameter `y` of launch needs a shape, or a value in `kwargs`"),
        ({"shapes": [{"z": (3,)}]}, "launch has no parameter `z`, which has a shape"),
        ({"shapes": [[(3,), (4,), (5,), (6,)]]}, "launch has 3 parameters, and 4 shapes"),
        ({"shapes": [(3, 4)], "dtypes": ["complex64"]}, "no dtype `complex64`"),
        ({"shapes": [(3, 4)], "dtypes": [{"z": "int32"}]}, "no tensor `z`, which has a dtype"),
        ({"shapes": [(3, 4)], "data": "given"}, "no data `given`"),
    ],
)
def test_wrong_points_are_refused(options: dict[str, Any], message: str) -> None:
    def launch(x: Any, y: Any, scale: float = 1.0) -> Any: ...

    with pytest.raises(ValueError, match=message):
        cerith_triton.conforms(like=twice, **options)(launch)
