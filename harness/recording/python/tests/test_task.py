"""Tasks of a judge: their trials, as messages and files. The forms that need torch are skipped without it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")

from cerith_triton import formats, task  # noqa: E402
from cerith_triton.task import trial  # noqa: E402
from cerith_triton.task.literals import TaskModule  # noqa: E402
from cerith_triton.task.sizing import MAX_ELEMENTS, Cost, Search  # noqa: E402

NORM = """
import numpy as np

def reference(x, weight, eps):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * weight

shapes = [{"x": (3, 29), "weight": (29,)}, {"x": (1, 64), "weight": (64,)}]
dtypes = ["float32", "bfloat16"]
kwargs = {"eps": 1e-5}
entry = "rms_norm"
"""

GROUPS = """
import numpy as np

rows, columns = 1024 * 4, 768
groups = 6
unrelated = 12345

def reference(x, groups):
    return x.reshape(x.shape[0], groups, -1).mean(axis=2)

def arguments(random):
    return [random.standard_normal((rows, columns)).astype(np.float32), groups]
"""

LINEAR = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.norm = nn.LayerNorm(outer)

    def forward(self, x):
        return self.norm(self.linear(x))

batch_size = 512
inner = 2048
outer = 1024

def get_inputs():
    return [torch.rand(batch_size, inner)]

def get_init_inputs():
    return [inner, outer]
"""

LOGARITHM = f"""
import torch

def scaled_log(input, scale=1.0, dim=-1, dtype=None):
    return torch.softmax(input.log() * scale, dim=dim, dtype=dtype)

{"#" * 146}

def test_scaled_log():
    x = torch.rand(5, 3, device="cuda") + 1
    return {{"one": scaled_log(x), "two": scaled_log(x, 2.0, dim=0)}}

result = test_scaled_log()
"""

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch here")


class Conversation:
    """A channel that makes requests, and keeps the answers with the arrays of their files."""

    def __init__(self, folder: Path, requests: list[dict[str, Any]]) -> None:
        self.answers: list[dict[str, Any]] = []
        self._folder = folder
        self._requests = [{"make": {"kind": "normal", "seed": 7, "sizes": 0, **one}} for one in requests]

    def send(self, message: dict[str, Any]) -> None:
        for tensor in _list_tensors(message):
            kind = (
                "<f8" if tensor["file"].endswith("f64") else "<i8" if tensor["file"].endswith("i64") else "u1"
            )
            tensor["array"] = np.fromfile(self._folder / tensor["file"], kind)
        self.answers.append(message)

    def receive(self) -> dict[str, Any]:
        return self._requests.pop(0) if self._requests else {"end": True}


def _list_tensors(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        own = [value] if "file" in value else []
        return own + [one for item in value.values() for one in _list_tensors(item)]
    return [one for item in value for one in _list_tensors(item)] if isinstance(value, list) else []


def serve(folder: Path, source: str, *requests: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of a task."""
    path = folder / "own_task.py"
    path.write_text(source)
    made = folder / "files"
    made.mkdir(exist_ok=True)
    conversation = Conversation(made, list(requests))
    task.serve(conversation, str(path), str(made))
    return conversation.answers


def read(tensor: dict[str, Any]) -> Any:
    """The values of a tensor of floats, as float64."""
    size = formats.FORMATS[tensor["dtype"]].size
    values = formats.decode(tensor["array"].view(f"u{size}"), tensor["dtype"])
    strides = [8 * one for one in tensor["strides"]]
    return np.lib.stride_tricks.as_strided(values[tensor["offset"] :], tensor["shape"], strides)


def expected_of(trial: dict[str, Any]) -> Any:
    output = trial["outputs"][0]
    return output["array"].reshape(output["shape"])


def check(answer: dict[str, Any], expected: str) -> None:
    """`expected`: the sizes of a trial, or a part of the reason why there is none."""
    kind, value = next(iter(answer.items()))
    found = value["sizes"] if kind == "trial" else f"{kind}: {value}"
    assert expected in found


def test_shapes_are_tried_in_order(tmp_path: Path) -> None:
    requests = [{"sizes": sizes} for sizes in range(6)]
    about, *answers = serve(tmp_path, NORM, *requests)
    assert about["task"] == {
        "form": "function",
        "entry": "rms_norm",
        "name": "own_task",
        "contract": {"accumulate": "float32", "tf32": True},
    }
    for answer, expected in zip(
        answers,
        [
            "x=float32[3, 29], weight=float32[29]",
            "x=bfloat16[3, 29]",
            "x=float32[1, 64]",
            "x=bfloat16[1, 64]",
            "x=float32[3, 29], weight=float32[29], not contiguous",
            "skipped: the task has 4 sets of sizes",
        ],
    ):
        check(answer, expected)
    for answer in answers[:5]:
        trial = answer["trial"]
        x, weight = (read(one["tensor"]) for one in trial["args"])
        assert trial["kwargs"] == {"eps": {"number": 1e-5}}
        assert trial["outputs"][0]["dtype"] == trial["args"][0]["tensor"]["dtype"]
        own = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * weight
        np.testing.assert_allclose(expected_of(trial), own, rtol=1e-14)
    assert answers[4]["trial"]["args"][0]["tensor"]["strides"] == [1, 3]


def test_data_depends_on_the_seed_only(tmp_path: Path) -> None:
    _, one, two, same = serve(tmp_path, NORM, {"seed": 1}, {"seed": 2}, {"seed": 1})
    values = [read(answer["trial"]["args"][0]["tensor"]) for answer in (one, two, same)]
    assert (values[0] != values[1]).all()
    assert (values[0] == values[2]).all()


def test_sizes_are_reduced_as_far_as_the_reference_runs(tmp_path: Path) -> None:
    _, *answers = serve(tmp_path, GROUPS, *({"sizes": sizes} for sizes in range(5)))
    for answer, expected in zip(
        answers,
        [
            "rows=256, columns=192, groups=6",
            # No odd number of columns has six groups.
            "rows=255, columns=192, groups=6",
            "rows=1, columns=192, groups=6",
            "rows=255, columns=192, groups=6, not contiguous",
        ],
    ):
        check(answer, expected)
    for answer in answers:
        x = read(answer["trial"]["args"][0]["tensor"])
        assert answer["trial"]["args"][1] == {"int": 6}
        assert x.size <= MAX_ELEMENTS
        own = x.reshape(len(x), 6, -1).mean(axis=2)
        np.testing.assert_allclose(expected_of(answer["trial"]), own, rtol=1e-13, atol=1e-15)


def make_source(body: str, arguments: str) -> str:
    head = "import numpy as np\n\n"
    return f"{head}def reference(*args):\n    {body}\n\ndef arguments():\n    return {arguments}\n"


ROW = "[np.linspace(0, 1, 40, dtype=np.float32)]"


@pytest.mark.parametrize(
    ("source", "request_fields", "expected"),
    [
        (
            make_source("return np.log(args[0])", ROW),
            {"kind": "given"},
            "skipped: the reference's result has a NaN",
        ),
        # The data is brought into the logarithm's domain.
        (make_source("return np.log(args[0])", ROW), {"kind": "normal"}, "argument 0=[40]"),
        (
            make_source("return np.log(args[0])", ROW),
            {"kind": "zeros"},
            "skipped: the reference's result has a NaN",
        ),
        (
            make_source("args[0][:] = 0; return args[0]", ROW),
            {},
            "skipped: the reference function changes its",
        ),
        (
            make_source("return args[0] + np.random.random()", ROW),
            {},
            "failed: the reference function is random",
        ),
        (
            make_source("return np.argmax(args[0])", ROW),
            {"kind": "ties"},
            "skipped: equal elements have no one",
        ),
        (make_source("return np.argmax(args[0])", ROW), {"kind": "distinct"}, "argument 0=[40]"),
        (make_source("return 'text'", ROW), {}, "skipped: the reference function returns a str"),
        (
            make_source("return args[0] / args[1]", "[np.ones(9), print]"),
            {},
            "skipped: the reference function raised",
        ),
        (
            make_source("return args[0]", "[np.ones(9), print]"),
            {},
            "skipped: an argument is a builtin_function",
        ),
        (make_source("return args[0]", "5"), {}, "failed: `arguments` returns no list"),
        (NORM, {"kind": "purple"}, "skipped: there is no data `purple`"),
    ],
)
def test_trials_that_cannot_be_made(
    tmp_path: Path, source: str, request_fields: dict[str, Any], expected: str
) -> None:
    _, answer = serve(tmp_path, source, request_fields)
    check(answer, expected)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def reference(x): ...", "failed: the task has neither `arguments` nor `shapes`"),
        ("def reference(x): ...\nshapes = [{'y': (1,)}]", "failed: `shapes` and `dtypes` do not fit"),
        ("x = 1", "failed: own_task.py is not a task"),
        ("x =", "failed: own_task.py cannot be read: SyntaxError"),
        ("import missing_package\ndef reference(x): ...", "own_task.py raised ModuleNotFoundError"),
    ],
)
def test_files_that_are_not_tasks(tmp_path: Path, source: str, expected: str) -> None:
    (answer,) = serve(tmp_path, source)
    check(answer, expected)


def test_values_have_a_form(tmp_path: Path) -> None:
    source = make_source(
        "return args[0]", "[np.ones(3), 2, True, 1.5, float('inf'), 'sum', None, (1, [2.0]), np.float16]"
    )
    _, answer = serve(tmp_path, source, {"kind": "integers"})
    assert [one for one in answer["trial"]["args"] if "tensor" not in one] == [
        {"int": 2},
        {"bool": True},
        {"number": 1.5},
        {"number": "inf"},
        {"text": "sum"},
        {"none": True},
        {"tuple": [{"int": 1}, {"list": [{"number": 2.0}]}]},
        {"dtype": "float16"},
    ]


def test_literals_of_inputs_are_sizes() -> None:
    source = """
heads, width = 8, 16 * 4
shape = (width, 1)
limit = 1e-5
other = 99

def helper():
    return other + heads

def get_inputs():
    return make(heads, *shape, 224, dim=77, scale=limit, last=helper()[3])
"""
    module = TaskModule(Path("own.py"), source, ["get_inputs"])
    found = [(site.name, site.value) for site in module.sites]
    # `helper` is called by `get_inputs`, so its variables count; indices and dimensions do not.
    assert found == [
        ("heads, width", 8),
        ("heads, width", 64),
        ("shape", 1),
        ("other", 99),
        ("get_inputs", 224),
    ]
    namespace = module.execute([2, 6, 1, 5, 7])
    assert namespace["shape"] == (6, 1)
    assert module.describe(namespace) == "heads=2, width=6, shape=(6, 1), limit=1e-05, other=5"


def test_a_search_keeps_relations() -> None:
    def measure(values: Any) -> Cost:
        embedding, channels, heads, window = values
        if embedding != channels or embedding % heads or window > embedding:
            raise ValueError("the sizes do not fit")
        return Cost(embedding * channels * 64, 1)

    search = Search(measure, [1024, 1024, 8, 20])
    small = search.shrink()
    assert small == [32, 32, 8, 20]
    # No odd size is a multiple of 8, and a window may be any.
    assert search.vary(small, 1, 7) == [32, 32, 8, 19]
    # Trials of a set have the same sizes, whatever their data is.
    assert search.vary(small, 9, 7) == search.vary(small, 9, 8)


def test_a_long_dimension_stays_as_it_was() -> None:
    search = Search(lambda values: Cost(values[0] * values[1], 1), [512, 16384])
    small = search.shrink()
    assert small == [256, 256]
    assert search.vary(small, 4, 7) == [4, 16384]
    # Sizes that nothing reduced are random, and so are those of a test.
    assert all(half <= one <= 2 * half for one, half in zip(search.vary(small, 5, 7), (128, 128)))
    assert max(search.vary(small, 4, 7, grows=True)) <= 512
    narrow = Search(lambda values: Cost(values[0], 1), [1 << 20])
    assert max(narrow.vary(narrow.shrink(), 4, 7)) <= 1 << 16


def test_sums_of_float64_are_float64() -> None:
    def check(dtypes: list[str], expected: str) -> None:
        values = [np.zeros(2, dtype) for dtype in dtypes]
        assert trial.choose_contract(values)["accumulate"] == expected

    check(["float64", "int64"], "float64")
    check(["float64", "float32"], "float32")
    check(["int64"], "float32")


@needs_torch
def test_a_model_of_kernelbench(tmp_path: Path) -> None:
    about, given, *answers = serve(
        tmp_path, LINEAR, {"kind": "given"}, *({"sizes": sizes, "kind": "integers"} for sizes in range(4))
    )
    assert about["task"]["entry"] == "ModelNew"
    for answer in (given, *answers):
        trial = answer["trial"]
        state = {one["name"]: read(one["tensor"]) for one in trial["state"]}
        x = read(trial["args"][0]["tensor"])
        y = x @ state["linear.weight"].T + state["linear.bias"]
        y = (y - y.mean(axis=1, keepdims=True)) / np.sqrt(y.var(axis=1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(
            expected_of(trial), y * state["norm.weight"] + state["norm.bias"], rtol=1e-9, atol=1e-9
        )
        assert x.size + state["linear.weight"].size <= MAX_ELEMENTS
        # A kernel that ignores the weight and the bias of the norm must not pass.
        assert answer is given or state["norm.weight"].std() > 0
    check(answers[1], "batch_size=127")
    check(answers[2], "batch_size=1,")
    check(answers[3], "not contiguous")


@needs_torch
def test_a_function_of_tritonbench(tmp_path: Path) -> None:
    about, *answers = serve(tmp_path, LOGARITHM, *({"sizes": sizes} for sizes in range(6)))
    assert about["task"]["form"] == "tritonbench"
    assert about["task"]["entry"] == "scaled_log"
    for answer, expected in zip(
        answers,
        # Other sizes than the test's own come with another number on the same side of 1.
        ["float32[5, 3]", "float32[19, 41]", "float32[5, 3], 2.0, dim=0", "float32[1, 41], 2.28, dim=0"],
    ):
        check(answer, expected)
    x = read(answers[3]["trial"]["args"][0]["tensor"])
    assert (x > 0).all()
    np.testing.assert_allclose(expected_of(answers[3]["trial"]), np.ones_like(x), rtol=1e-12)
    x = read(answers[1]["trial"]["args"][0]["tensor"])
    np.testing.assert_allclose(expected_of(answers[1]["trial"]), x / x.sum(axis=1, keepdims=True), rtol=1e-12)


CASTS = """
import torch

def reference(x):
    return x.to(torch.int32).float()

shapes = [(3, 4)]
"""


@needs_torch
def test_integers_are_not_tried_with_huge_numbers(tmp_path: Path) -> None:
    _, huge, normal = serve(tmp_path, CASTS, {"kind": "huge"}, {"kind": "normal"})
    check(huge, "skipped: integers are not defined")
    check(normal, "x=float32[3, 4]")
