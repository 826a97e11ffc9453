"""Parts of `check` that need neither Triton nor the program: floats as bits, data, outputs, texts."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, NamedTuple

import pytest

np = pytest.importorskip("numpy")

import cerith_triton  # noqa: E402
from cerith_triton import arguments, formats, inputs, outputs, wording  # noqa: E402
from cerith_triton.arguments import Copies  # noqa: E402
from cerith_triton.inputs import Data  # noqa: E402
from cerith_triton.trials import Example, Output, Subject, Trial  # noqa: E402

FLOATS = list(formats.FORMATS)


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_number_of_a_float_dtype_survives(dtype: str) -> None:
    size = formats.FORMATS[dtype].size
    bits = np.arange(1 << 8 * min(size, 2), dtype=np.uint64) << np.uint64(8 * max(size - 2, 0))
    bits = bits.astype(f"u{size}")
    values = formats.decode(bits, dtype)
    numbers = ~np.isnan(values)
    assert (formats.encode(values, dtype)[numbers] == bits[numbers]).all()
    assert np.isnan(formats.round_to(values, dtype)[~numbers]).all()


@pytest.mark.parametrize(
    ("dtype", "values", "rounded"),
    [
        (
            "bfloat16",
            [1 + 2**-8, 1 + 3 * 2**-8, 3.39e38, 1e39],
            [1, 1 + 2**-6, 2.0**128 * (1 - 2**-8), np.inf],
        ),
        ("float8_e4m3fn", [17, 19, 464, 1e9, -0.0, 2**-10], [16, 20, 448, 448, -0.0, 0]),
        ("float8_e5m2", [57344, 61439, 61440, -np.inf, 5, 7], [57344, 57344, np.inf, -np.inf, 5, 7]),
        ("float8_e4m3fnuz", [-0.0, 250, -17], [0, 240, -16]),
        ("float16", [65519, 65520, 2049], [65504, np.inf, 2048]),
    ],
)
def test_ties_go_to_even_and_large_values_overflow(
    dtype: str, values: list[float], rounded: list[float]
) -> None:
    found = formats.round_to(np.array(values, np.float64), dtype)
    assert found.tolist() == rounded
    assert np.signbit(found).tolist() == np.signbit(np.array(rounded, np.float64)).tolist()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", inputs.KINDS)
@pytest.mark.parametrize("shape", [(), (1,), (0, 4), (3, 29), (2, 3, 8)])
def test_data_is_of_its_dtype_and_its_seed(kind: str, dtype: str, shape: tuple[int, ...]) -> None:
    made = inputs.fill(Data(kind, 7), 0, shape, dtype)
    assert made.shape == shape
    again = inputs.fill(Data(kind, 7), 0, shape, dtype)
    assert np.array_equal(made, again, equal_nan=True)
    assert np.array_equal(formats.round_to(made, dtype), made, equal_nan=True)
    if kind != "non-finite":
        assert np.isfinite(made).all()


def test_kinds_hold_what_they_are_for() -> None:
    def fill(kind: str, dtype: str = "float32", shape: tuple[int, ...] = (8, 32), position: int = 0) -> Any:
        return inputs.fill(Data(kind, 3), position, shape, dtype)

    assert not fill("zeros").any()
    assert (fill("one-hot").sum(1) == 1).all() and (fill("one-hot") != 0).sum() == 8
    assert set(fill("integers").reshape(-1)) <= set(range(-4, 5))
    assert len(set(fill("ties").reshape(-1))) == 3
    assert len(set(fill("distinct").reshape(-1))) == 256
    assert len(set(fill("distinct", "float16").reshape(-1))) == 256
    assert np.abs(fill("tiny")).max() < 1e-6 and fill("tiny").all()
    assert 4 <= np.abs(fill("large")).min() < 32 < np.abs(fill("large")).max() <= 1024
    # The square of each is a number of f32, and each is one of f16.
    assert np.isfinite(fill("large", "float16")).all()
    rows = fill("cancelling")
    assert (np.abs(rows.mean(1)) > 7).all() and (rows.std(1) < 0.2).all()
    touched = ~np.isfinite(fill("non-finite"))
    assert touched.any(1).sum() == 4
    assert not np.array_equal(fill("normal"), fill("normal", position=1))


def test_unknown_data_is_refused_with_the_known() -> None:
    assert inputs.choose_kinds("all", given=True)[:2] == ["given", "zeros"]
    assert inputs.choose_kinds(["ties", "given"], given=True) == ["ties", "given"]
    for wrong, given in (("random", True), ("given", False), ([], True)):
        with pytest.raises(ValueError, match=r"use \"all\", or some of .*zeros, one-hot"):
            inputs.choose_kinds(wrong, given=given)


def test_every_kind_has_a_purpose() -> None:
    for kind in ("given", *inputs.KINDS):
        purpose = Data(kind, 0).purpose
        assert 20 < len(purpose) < 100 and not purpose.endswith(".")


class Both(NamedTuple):
    out: Any
    lse: Any


@dataclasses.dataclass
class Parts:
    out: Any
    none: Any = None


@pytest.mark.parametrize(
    ("result", "names", "named"),
    [
        (None, [], False),
        (np.ones(3), ["output 0"], False),
        (3.5, ["output 0"], False),
        ((np.ones(3), None, np.ones(2)), ["output 0", "output 2"], False),
        ([np.ones(3), np.ones(2)], ["output 0", "output 1"], False),
        ([[1.0, 2.0], [3.0, 4.0]], ["output 0"], False),
        ({"y": np.ones(3)}, ["y"], True),
        (Both(np.ones(3), None), ["out"], True),
        (Parts(np.ones(3)), ["out"], True),
    ],
)
def test_results_are_named(result: object, names: list[str], named: bool) -> None:
    found = outputs.flatten(result)
    assert (found.names, found.named) == (names, named)


def test_outputs_and_results_belong_together() -> None:
    two = outputs.flatten((1, 2))
    assert outputs.match_results(two, outputs.flatten([np.ones(1), np.ones(1)]), "f", "g")[1][:2] == (
        "output 1",
        2,
    )
    by_name = outputs.match_results(outputs.flatten({"a": 1, "b": 2}), outputs.flatten({"b": 3}), "f", "g")
    assert by_name == [("a", 1, None), ("b", 2, 3)]
    with pytest.raises(ValueError, match=r"f has 2 outputs \(output 0, output 1\), and g returns 1 output"):
        outputs.match_results(two, outputs.flatten(1), "f", "g")
    with pytest.raises(ValueError, match="g returns `c`, which f does not: its outputs are a, b"):
        outputs.match_results(outputs.flatten({"a": 1, "b": 2}), outputs.flatten({"c": 3}), "f", "g")


def test_expected_values_take_the_outputs_dtype_and_shape() -> None:
    assert outputs.convert_expected(np.array([1.0, 2.0]), "int32").tolist() == [1, 2]
    assert outputs.convert_expected(np.array([1.5]), "int32") is None
    assert outputs.convert_expected(np.array([np.nan]), "int32") is None
    assert outputs.convert_expected(np.array([True]), "float16").dtype == np.float64
    assert outputs.fit_shape(np.ones((3, 1)), (3,)).shape == (3,)
    assert outputs.fit_shape(np.ones((3, 2)), (2, 3)) is None
    with pytest.raises(TypeError, match="returned a str"):
        outputs.read_result("text")
    outside = outputs.find_outside(
        np.array([1.0, 2.0, np.nan, np.inf]), np.array([1.0, 2.1, np.nan, np.inf]), 0, 0.05
    )
    assert outside.tolist() == [False, True, False, False]
    ulps = outputs.find_largest_ulps(
        np.array([1 + 2**-20, np.nan, 0]), np.array([1.0, np.nan, 2**-149]), "float32"
    )
    assert ulps == 8
    assert outputs.find_largest_ulps(np.ones(1), np.ones(1), "int32") is None


def test_copies_keep_layouts_and_shared_memory() -> None:
    if arguments.torch_of() is not None:
        pytest.skip("arrays become tensors of torch's")
    whole = np.arange(24, dtype=np.float32).reshape(4, 6)
    part, turned = whole[1:, ::2], whole.T
    copies = Copies()
    first, second = copies.copy(part), copies.copy(turned)
    assert first is copies.copy(part)
    assert (first.shape, first.stride(), first.storage_offset()) == ((3, 3), (6, 2), 6)
    assert second.stride() == (1, 6)
    assert first.untyped_storage() is second.untyped_storage()
    assert np.array_equal(arguments.read_values(first), part)
    arguments.write_values(first, np.full((3, 3), 0.5))
    assert arguments.read_values(second).T[1, 0] == 0.5
    assert whole[1, 0] == 6
    backwards = whole[::-1]
    assert np.array_equal(arguments.read_values(copies.copy(backwards)), backwards)


def test_stand_ins_have_elements() -> None:
    made = cerith_triton.tensor([[1.5, 2], [3, 4]], dtype="bfloat16")
    assert made.is_cuda and str(made.dtype) == "torch.bfloat16"
    assert made.T.tolist() == [[1.5, 3.0], [2.0, 4.0]]
    assert made.reshape(-1)[1:3].numpy().dtype == np.float64
    assert made.new_full((2,), 7, dtype=made.dtype).tolist() == [7.0, 7.0]
    assert np.empty_like(made).shape == (2, 2)
    assert np.full_like(made, 2).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert cerith_triton.tensor({(1, 2): 5}, shape=(2, 3), dtype="int8").tolist() == [[0, 0, 0], [0, 0, 5]]
    with pytest.raises(AttributeError, match="no elements to compute with"):
        made + made
    with pytest.raises(TypeError, match="no dtype `complex64`"):
        cerith_triton.tensor([1], dtype="complex64")


def subject(**more: Any) -> Subject:
    def softmax(x: object, dim: int) -> object:
        return x

    given: dict[str, Any] = {"args": [np.ones((3, 29), np.float32)], "kwargs": {"dim": 1}, **more}
    given.setdefault("like_args", given["args"])
    given.setdefault("like_kwargs", given["kwargs"])
    return Subject(softmax, np.exp, **given)


def failing(**more: Any) -> Trial:
    example = Example((0, 7), 0.12, 0.11, 0.1099, 0.1101)
    one = Output("output 0", "wrong", "float32", (3, 29), 87, 3, 0, 0, 41.0, 4.1, example, "launch 1 of k")
    return Trial(Data("integers", 5), "wrong", (one,), operation="in `reduce` at k.py:14", launches=1, **more)


def test_a_text_has_the_problem_first_and_a_test_last() -> None:
    passing = Trial(Data("zeros", 5), "agree", (Output("output 0", "agree", elements=87),))
    skipped = Trial(Data("ties", 5), "skipped", reason="numpy.exp raised ValueError: " + "x" * 500)
    wrong = failing(notes=("`k` runs with the first of its 3 configurations: BLOCK: 2",))
    lines = wording.describe(subject(), [passing, skipped, wrong], wrong, [], 5)
    test = wording.CodeWriter(subject(), wrong.data, None).write({})
    text = wording.limit(lines, test)
    assert text.startswith("softmax does not compute numpy.exp: 3 of 87 elements of `output 0` are wrong\n")
    for part in (
        "  most of it is lost in `reduce` at k.py:14\n  launch 1 of k\n",
        "  output 0[0, 7] (float32): kernel 0.12, expected 0.11\n",
        "  the kernel's formula has 0.1099 to 0.1101\n",
        "  data: integers (small integers from -4 to 4",
        "  agrees with: zeros\n",
        "  seed: 5\n",
        "  skipped ties: numpy.exp raised ValueError",
        '        args=[numpy.zeros((3, 29), dtype="float32")],\n        kwargs={"dim": 1},\n',
        '        data="integers",\n        seed=5,\n',
    ):
        assert part in text
    assert max(map(len, text.splitlines())) <= 80
    assert "<pre" in wording.write_html("a < b", False, [wrong]) and "a &lt; b" in wording.write_html(
        "a < b", False, []
    )


def test_a_test_keeps_the_strides_of_a_view() -> None:
    x = np.ones((5, 40), np.float32)[:, :29]
    lines = wording.CodeWriter(subject(args=[x]), Data("zeros", 1), None).write({})
    scope: dict[str, Any] = {"numpy": np}
    written = re.search(r"args=\[(.*)\],\n", "\n".join(lines), re.DOTALL)
    assert written is not None
    made = eval(written.group(1).strip().rstrip(","), scope)
    assert (made.shape, made.strides, made.dtype) == (x.shape, x.strides, x.dtype)


def test_a_text_has_a_limit() -> None:
    lines = ["the problem", *(f"  note {at}: {'long ' * 40}" for at in range(40))]
    text = wording.limit(lines, ["def test(): ..."])
    assert text.startswith("the problem\n") and text.endswith("…") and len(text.encode()) <= wording.MAX_TEXT


@pytest.mark.parametrize(
    ("values", "written"),
    [
        (np.zeros((3, 29)), 'numpy.full((3, 29), 0.0, dtype="float32")'),
        ({(1, 2): -1.0, (2, 0): float("nan")}, 'cerith_triton.tensor({(1, 2): -1.0, (2, 0): float("nan")}, '),
        (np.arange(87.0).reshape(3, 29), "args=[x]"),
    ],
)
def test_a_test_spells_out_few_values(values: Any, written: str) -> None:
    if isinstance(values, dict):
        spelled, values = values, np.zeros((3, 29))
        for index, value in spelled.items():
            values[index] = value
    lines = wording.CodeWriter(subject(), Data("ties", 1), {"x": values}).write({"rtol": 0.1})
    text = "\n".join(lines)
    assert written in re.sub(r",\n +", ", ", text) and max(map(len, lines)) <= 80
    assert 'data="given"' in text and "rtol=0.1," in text and "seed" not in text
    compile(text, "test", "exec")
