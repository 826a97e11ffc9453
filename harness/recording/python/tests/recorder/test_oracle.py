"""`check` with the real program, beside any Triton, without a GPU and without torch."""

from __future__ import annotations

import subprocess
from typing import Any

import formulas
import numpy as np
import pytest
import triton

import cerith_triton
from cerith_triton import binary


@pytest.fixture(autouse=True)
def _needs_oracle() -> None:
    try:
        program = binary.find()
    except binary.CerithError as error:
        pytest.skip(f"no program to compare with: {error}")
    known = subprocess.run([program, "oracle", "--help"], capture_output=True, check=False)
    if known.returncode:
        pytest.skip(f"{program} has no `oracle`")


RANDOM = np.random.default_rng(0)


def softmax(x: Any) -> Any:
    numerator = np.exp(x - x.max(1, keepdims=True))
    return numerator / numerator.sum(1, keepdims=True)


def check(fn: Any, like: Any, *args: Any, **options: Any) -> cerith_triton.Comparison:
    return cerith_triton.check(fn, like=like, args=args, raises=False, **options)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_softmax_agrees_for_all_data(dtype: str) -> None:
    found = check(formulas.softmax, softmax, RANDOM.standard_normal((3, 29)).astype(dtype))
    assert found.ok, found.text
    assert len(found.trials) == 11
    for trial in found.trials:
        (one,) = trial.outputs
        assert (one.elements, one.wrong, one.inaccurate) == (87, 0, 0)


def test_a_softmax_with_a_wrong_fill_does_not() -> None:
    found = check(
        lambda x: formulas.softmax(x, 0.0), softmax, RANDOM.standard_normal((3, 29)).astype("float32")
    )
    assert found.verdict == "wrong", found.text
    assert "does not compute softmax" in found.text and "87 elements of `output 0`" in found.text
    assert max(map(len, found.text.splitlines())) <= 100
    # A block without padding has no lane with the fill.
    assert check(
        lambda x: formulas.softmax(x, 0.0), softmax, RANDOM.standard_normal((3, 32)).astype("float32")
    ).ok


def test_lanes_without_a_value_are_named() -> None:
    x = RANDOM.standard_normal(29).astype("float32")
    found = check(formulas.total_of_masked_lanes, lambda x: x.sum(keepdims=True), x, data="given")
    assert found.verdict == "wrong", found.text
    assert "1 of 1 elements have no defined value" in found.text


def test_a_narrow_sum_is_less_accurate_than_the_contract() -> None:
    x = RANDOM.standard_normal(16 * 64).astype("float16")

    def sums(x: Any) -> Any:
        return x.reshape(-1, 16).sum(0)

    found = check(formulas.partial_sums, sums, x, data="given")
    assert found.verdict == "inaccurate", found.text
    assert "are less accurate than the contract" in found.text.replace("\n  ", " ")
    assert check(formulas.partial_sums, sums, x, data="given", accumulate="float16").ok
    assert check(formulas.partial_sums, sums, x, data="given", atol=1.0).ok
    assert check(formulas.partial_sums, sums, x.astype("float32"), data="given").ok


def test_launches_follow_each_other() -> None:
    x = RANDOM.standard_normal(50).astype("float32")
    found = check(
        formulas.scale_twice,
        lambda x, first, second: x * first * second,
        x,
        0.1,
        0.7,
        data=["given", "large"],
    )
    assert found.ok, found.text
    assert [trial.launches for trial in found.trials] == [2, 2]
    assert check(formulas.scale_twice, lambda x, first, second: x * first, x, 0.1, 0.7).verdict == "wrong"


def test_elements_that_no_launch_wrote_are_reported() -> None:
    found = check(formulas.scale_half, lambda x: x * 2, RANDOM.standard_normal(50).astype("float32"))
    assert found.verdict == "unwritten", found.text
    assert "25 of 50 elements" in found.text


def test_an_undefined_launch_fails_at_its_line() -> None:
    def launcher(x: Any) -> Any:
        out = x.new_empty((40,))
        formulas.scale_kernel[(1,)](x, out, 50, 2.0, BLOCK=64)
        return out

    found = check(launcher, lambda x: x[:40] * 2, RANDOM.standard_normal(50).astype("float32"))
    assert (found.verdict, found.trials[0].outcome.code) == ("undefined", "out-of-bounds")
    assert found.trials[0].outcome.file.endswith("formulas.py")
    assert "tl.store(out_ptr + at, x * factor, mask=at < n)" in found.text


def test_other_engines_must_store_the_same_bytes() -> None:
    x = RANDOM.standard_normal(50).astype("float32")

    def like(x: Any, first: float, second: float) -> Any:
        return x * first * second

    try:
        engine = f"interpret@{triton.__version__}"
        found = check(formulas.scale_twice, like, x, 0.5, 2.0, data="given", engines=[engine])
    except binary.CerithError as error:
        pytest.skip(f"no other engine: {error}")
    assert found.ok, found.text


def test_memory_between_the_elements_is_known() -> None:
    whole = RANDOM.standard_normal((5, 40)).astype("float32")
    found = check(formulas.copy_dense, lambda x: x.copy(), whole[:, :29])
    assert found.verdict == "wrong", found.text
