"""The process of a submission of `cerith judge`, with torch."""

from __future__ import annotations

import collections
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from test_check import fake

from cerith_triton import arguments, submission, suspicions
from cerith_triton.decisions import Decisions
from cerith_triton.devices import watch_torch
from cerith_triton.inputs import Data
from cerith_triton.oracle import Oracle
from cerith_triton.suspicions import Watch
from cerith_triton.task import kernelbench
from cerith_triton.task.dataflow import DataFlow
from cerith_triton.trials import Subject

torch = pytest.importorskip("torch")

__all__ = ["fake"]


def describe(tmp_path: Path, value: Any, text: str = "") -> dict[str, Any]:
    """The result of a call that returns a value, in the process of a submission with this text."""
    path = tmp_path / "submission.py"
    path.write_text(text, encoding="utf-8")
    run = submission._Run(None, str(path), {"entry": "run", "form": "plain"})  # type: ignore[arg-type]
    fields, _ = run._describe(value, submission._Inputs([], memoryview(b""), {}))
    return fields


def make_obstacles() -> list[Any]:
    from torch._C._functorch import _add_batch_dim
    from torch._subclasses import FakeTensorMode

    plain = torch.arange(6.0).reshape(2, 3)
    made = [
        torch._neg_view(plain),
        torch.zeros(2, 3, dtype=torch.complex64).conj().imag,
        torch._efficientzerotensor((2, 3)),
        plain.to("meta"),
        plain.to_sparse(),
        torch.nested.nested_tensor([plain[0], plain[1, :2]]),
        FakeTensorMode().from_tensor(plain),
        _add_batch_dim(plain, 0, 1),
    ]
    return made + ([plain.to_mkldnn()] if torch.backends.mkldnn.is_available() else [])


def test_only_plain_memory_is_a_result(tmp_path: Path) -> None:
    for value in make_obstacles():
        (one,) = describe(tmp_path, value)["outputs"]
        assert one["host"] == arguments.find_obstacle(value)
        assert "launch" not in one and "bits" not in one
    assert arguments.find_obstacle(torch.nn.Parameter(torch.ones(2)).data.t()) is None


def test_a_result_larger_than_memory_is_not_copied(tmp_path: Path) -> None:
    (one,) = describe(tmp_path, torch.ones(1, 1).expand(1 << 31, 1 << 31))["outputs"]
    assert one["host"] == "no launch wrote it" and "bits" not in one


def test_a_result_has_a_structure(tmp_path: Path) -> None:
    one, make_pair = torch.ones(1), collections.namedtuple("make_pair", "x y")
    result = {"b": [one, None, (one,)], 0: make_pair(one, 2)}
    fields = describe(tmp_path, result)
    assert fields["structure"] == {
        "named": [
            ["'b'", {"sequence": [{"leaf": 0}, "none", {"sequence": [{"leaf": 1}]}]}],
            ["0", {"sequence": [{"leaf": 2}, {"leaf": 3}]}],
        ]
    }
    names = [output["name"] for output in fields["outputs"]]
    assert names == ["output.b.0", "output.b.2.0", "output.0.x", "output.0.y"]
    nested: list[Any] = []
    nested.append(nested)
    assert len(describe(tmp_path, nested)["outputs"]) == 1


FLOWS = {
    "x * 2": True,
    "torch.zeros_like(x)": False,
    "x.new_ones(x.shape[0]).cumsum(0)": False,
    "torch.empty_like(x).copy_(x)": True,
    "torch.full((3,), x.sum().item())": True,
    "torch.add(torch.ones(3), 1, out=torch.empty(3))": False,
    "torch.stack([torch.ones(3), x]).argmax(0)": True,
}


def test_data_reaches_results() -> None:
    for text, expected in FLOWS.items():
        x = torch.arange(3.0)
        flow = DataFlow([x])
        with flow.watch():
            result = eval(text, {"torch": torch, "x": x})
        assert flow.is_reached(result) == expected, text


def test_bits_of_a_lazily_negated_tensor_are_negated() -> None:
    assert arguments.read_values(torch._neg_view(torch.ones(2))).tolist() == [-1, -1]


@pytest.mark.usefixtures("fake")
def test_check_does_not_accept_them() -> None:
    for value in make_obstacles():
        subject = Subject(lambda x: value, lambda x: x, [torch.ones(2, 3)], {}, [torch.ones(2, 3)], {})  # noqa: B023
        oracle: Any = type(
            "_Oracle", (), {"changed_anything": True, "launches": 1, "writer_of": lambda *_: None}
        )()
        found: Any = subject._classify(oracle, "output", value, torch.ones(2, 3).numpy())
        assert found.reason
        assert found.verdict == ("undecided" if value.is_neg() else "wrong"), found


SEARCHES = {
    "object.__getattr__": """
try:
    raise ValueError
except ValueError as error:
    getattr(error.__traceback__, "tb_" + "frame")
""",
    "exec": "exec('import sys; sys._getframe()')",
    "inspect": "from inspect import currentframe as current; current()",
    "walk": """
import traceback
try:
    raise ValueError
except ValueError as error:
    next(traceback.walk_tb(error.__traceback__))
""",
    "heap": "import gc; gc.get_referrers(gc)",
    "hook": """
import sys
try:
    sys.addaudithook(print)
except RuntimeError:
    pass
else:
    sys.audit("own")
""",
}
HONEST = """
import collections, dataclasses, logging, traceback, warnings
collections.namedtuple("Pair", "x y")
dataclasses.make_dataclass("Data", ["x"])
logging.warning("a warning")
warnings.warn("a warning")
try:
    raise ValueError
except ValueError:
    traceback.print_exc()
"""
WATCHED = """
import sys
import threading
from pathlib import Path
import torch, triton
from cerith_triton import outputs, submission
from cerith_triton.suspicions import Watch
path = sys.argv[1]
watch = Watch(path)
watch.start()
code = compile(Path(path).read_text(), path, "exec")
names = {"__name__": "submission"}
try:
    exec(code, names)
except PermissionError:
    pass
for one in watch.list_suspicions():
    print("found:", one["kind"], one["text"])
"""


def watch(tmp_path: Path, text: str) -> list[str]:
    """The suspicions about a submission with this text, in a process of its own."""
    path = tmp_path / "submission.py"
    path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(path)], capture_output=True, text=True, check=True
    )
    return [line[7:] for line in done.stdout.splitlines() if line.startswith("found: ")]


@pytest.mark.parametrize("name", SEARCHES)
def test_frames_and_objects_of_the_judge_are_refused(tmp_path: Path, name: str) -> None:
    (found, *_) = watch(tmp_path, SEARCHES[name])
    assert found.split()[0] in ("tampering", "reference-read"), found


def test_libraries_read_frames_for_a_submission(tmp_path: Path) -> None:
    assert watch(tmp_path, HONEST) == []


@pytest.mark.parametrize(
    "text",
    [
        "import json; json.JSONEncoder.encode = lambda self, value: '{}'",
        "import json; json.dumps = lambda value: '{}'",
        "from cerith_triton import submission as s; s._Inputs.list_changed = lambda self: []",
        "from cerith_triton import outputs as o; o.flatten.__code__ = (lambda result: None).__code__",
    ],
)
def test_replaced_functions_of_the_judge_are_found(tmp_path: Path, text: str) -> None:
    found = watch(tmp_path, text)
    assert any(one.startswith("tampering it replaces") for one in found), found


def find_decision(tmp_path: Path, text: str, written: Any = None) -> tuple[str, int | None] | None:
    """The first function that reads data in the function `run` of a submission, which gets a tensor."""
    path = str(tmp_path / "submission.py")
    decisions = Decisions(path, lambda one: one is written)
    loss = torch.nn.functional.triplet_margin_with_distance_loss
    names: dict[str, Any] = {"torch": torch, "threading": threading, "loss": loss, "y": written}
    exec(compile(text, path, "exec"), names)  # noqa: S102
    given = torch.ones(4)
    decisions.note_inputs([given.untyped_storage().data_ptr()])
    with watch_torch(lambda _one: None, decisions):
        names["run"](given)
    decisions.check_shared([] if written is None else [written.untyped_storage().data_ptr()])
    return decisions.found


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("float(x.max())", "__float__"),
        ("x[0].item()", "item"),
        ("x.add_(1).tolist()", "tolist"),
        ("x.numpy()", "numpy"),
        ("torch.equal(x, x)", "equal"),
        ("bool((x > 0).any())", "__bool__"),
        ("x.nonzero().shape", "nonzero"),
        ("x[x > 0].shape", "index"),
        ("torch.bincount(x.long()).shape", "bincount"),
        ("torch.arange(x.max().long()).shape", "_local_scalar_dense"),
        ("torch.zeros(9)[x.max().long()].storage_offset()", "_local_scalar_dense"),
        ("torch.tensor_split(torch.zeros(9), x[:1].long())", "tensor_split"),
        ("x.to_sparse()._nnz()", "_to_sparse"),
        ("x.clone().apply_(lambda one: one)", "apply_"),
        ("torch.ops.aten.item.default(x[0])", "item"),
        ("torch.ops.aten.equal.default(x, x)", "equal"),
        ("type('L', (list,), {})([x[0]]) and torch.stack(type('L', (list,), {})([x[0]])).item()", "item"),
        ("torch.frombuffer(bytearray(16), dtype=torch.float32).copy_(x)", "copy_"),
        ("a = torch.zeros(4); b = a.numpy(); a.copy_(x)", "copy_"),
        ("exec(compile('x[0].item()', '/opt/cerith_triton/a.py', 'exec'), {'x': x})", "item"),
        ("t = threading.Thread(target=lambda: x[0].item()); t.start(); t.join()", "item"),
        ("torch.ops.aten._local_scalar_dense(x[0])", "_local_scalar_dense"),
        ("exec('x[0].item()', {'x': x})", "item"),
        ("torch.zeros(1).copy_(x[:1]).item()", "item"),
        ("y.sum().item()", "item"),
        ("loss(x, x, x, distance_function=lambda a, b: a * a.max().item())", "_local_scalar_dense"),
    ],
)
def test_values_of_data_are_not_read(tmp_path: Path, text: str, name: str) -> None:
    written = torch.ones(2)
    assert find_decision(tmp_path, f"def run(x):\n    {text}", written) == (name, 2)


def test_memory_that_numpy_sees_is_not_written(tmp_path: Path) -> None:
    written = torch.zeros(2)
    path = str(tmp_path / "submission.py")
    decisions = Decisions(path, lambda _one: False)
    with watch_torch(lambda _one: None, decisions):
        made = torch.zeros(2)
        made.numpy()
    decisions.check_shared([written.untyped_storage().data_ptr()])
    assert decisions.found is None
    decisions.check_shared([made.untyped_storage().data_ptr()])
    assert decisions.found == ("numpy", None)


def test_an_input_has_no_address_of_a_constant(tmp_path: Path) -> None:
    decisions = Decisions(str(tmp_path), lambda _one: False)
    with watch_torch(lambda _one: None, decisions):
        made = torch.zeros(2)
        made[0].item()
        assert decisions.found is None
        decisions.note_inputs([made.untyped_storage().data_ptr()])
        made[0].item()
    assert decisions.found is not None


@pytest.mark.parametrize("name", ["_start_new_thread", "_start_joinable_thread"])
def test_threads_are_started_as_before(name: str) -> None:
    before = getattr(threading, name, None)
    with watch_torch(lambda _one: None, Decisions("", lambda _one: False)):
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
    assert getattr(threading, name, None) is before


MEMORY = [
    "import ctypes",
    "from ctypes import cast",
    "import numpy as np\nnp.ctypeslib",
    "class Holder:\n    def make(self):\n        self.__array_interface__ = {}",
    "import torch\ntorch._C._to_dlpack",
    "import sys\nsys.modules['ct' + 'ypes'].c_float.from_address",
]


@pytest.mark.parametrize("text", MEMORY)
def test_memory_is_not_accessed_by_address(tmp_path: Path, text: str) -> None:
    path = tmp_path / "submission.py"
    path.write_text(text, encoding="utf-8")
    found: list[Any] = []
    one = Watch(str(path), lambda *read: found.append(read))
    for module, line in suspicions._find_memory_access(one._tree):
        one._add_read(module, line)
    # The last one is found by an audit event.
    assert bool(found) is ("'ct'" not in text)


def test_audited_access_by_address_is_found(tmp_path: Path) -> None:
    text = "import sys\nc = sys.modules['ct' + 'ypes']\nc.c_float.from_address(id(c))"
    assert any("by an address" in one for one in watch(tmp_path, text))


CHANGES = {
    "x.t_()": True,
    "x.resize_(1)": True,
    "x.data = torch.ones(2, 3)": True,
    "x.set_(torch.ones(2, 3))": True,
    "many.clear()": True,
    "many[0] = torch.ones(2, 3)": True,
    "x = x.t(); many = []": False,
}


@pytest.mark.parametrize(("text", "changes"), CHANGES.items())
def test_layouts_of_arguments_stay(text: str, changes: bool) -> None:
    content = bytes(24)
    tensor = {"file": "a", "dtype": "float32", "shape": [2, 3], "strides": [3, 1], "offset": 0}
    inputs = submission._Inputs([{"name": "a", "bytes": 24}], memoryview(content), {})
    x = inputs.build_tensor(tensor, "x")
    many = [inputs.build_tensor(tensor, "x")]
    inputs.keep_layouts([[x, many], {}])
    exec(text, {"torch": torch, "x": x, "many": many})  # noqa: S102
    assert bool(inputs.list_changed()) is changes


@pytest.mark.parametrize(
    "text",
    [
        "torch.tensor(0.5).item(), float(torch.arange(4).max())",
        "a = torch.full((4,), 2.0); x + a; a[0].item()",
        "torch.Tensor(2, 2).fill_(1)[0, 0].item(), torch.nn.Linear(2, 2).weight.sum().item()",
        "y = x.clone(); y.add_(x); torch.zeros(4).copy_(x); torch.Tensor([1, 2]).sum()",
        "x.shape, x.numel(), x.is_cuda, x.stride(), x.data_ptr(), len(x)",
        "bool(torch.zeros(2).any() | torch.full((2,), 1).bool().all())",
    ],
)
def test_constants_are_read(tmp_path: Path, text: str) -> None:
    assert find_decision(tmp_path, f"def run(x):\n    {text}") is None


def test_torch_has_a_gpu_if_tensors_are_on_one() -> None:
    with watch_torch(lambda _one: None):
        with watch_torch(lambda _one: None):
            assert torch.ones(1).is_cuda and torch.cuda.is_available()
        assert torch.ones(1).is_cuda and torch.cuda.device_count()


@pytest.mark.parametrize(
    "text",
    [
        "class Own(triton.runtime.jit.JITFunction):\n    pass",
        "Own = type('Own', (triton.runtime.jit.KernelInterface,), {})",
        "torch._C.DisableTorchFunctionSubclass()",
    ],
)
def test_own_kernel_classes_are_found(tmp_path: Path, text: str) -> None:
    (found,) = watch(tmp_path, f"import torch, triton\n{text}")
    assert found.startswith("tampering")


def test_other_sizes_choose_other_configurations() -> None:
    def choose(rows: int, file: str) -> int:
        tensor = {"tensor": {"shape": [rows, 29], "file": file}}
        return submission._choose_configuration({"args": [tensor], "kwargs": {}})

    assert choose(3, "a") == choose(3, "b")
    for count in (2, 3, 7):
        assert len({choose(rows, "a") % count for rows in range(1, 40)}) == count


def test_an_oracle_takes_the_configuration_of_a_call(tmp_path: Path) -> None:
    oracle = Oracle(tmp_path)
    assert oracle.choose_configuration(None, "k", ["a", "b"]) == "a"
    oracle.configuration = 5
    assert oracle.choose_configuration(None, "k", ["a", "b"]) == "b"
    assert oracle.notes[1] == "`k` runs with number 2 of its 2 configurations: b"


def test_running_statistics_vary() -> None:
    model = torch.nn.BatchNorm1d(8)
    model.register_buffer("table", torch.ones(8))
    names = [name for name, _ in model.named_parameters()]
    made = kernelbench._fill_state(model.state_dict(), names, Data("normal", 1))
    for name, tensor in made.items():
        assert bool((tensor == model.state_dict()[name]).all()) is (name in ("table", "num_batches_tracked"))
    assert made["running_var"].min() >= 0.5


@pytest.mark.parametrize("text", ["import torch._dynamo", "torch.compile(lambda x: x + 1)"])
def test_torch_replaces_its_own_functions(tmp_path: Path, text: str) -> None:
    assert watch(tmp_path, f"import torch\n{text}") == []


COMPILED = """
import torch, sys
file = sys.modules["torch.random"].__file__
code = compile("def manual_seed(seed): return 1", file, "exec")
names = vars(torch.random) if {own} else {{"__name__": "torch.random"}}
exec(code, names)
torch.manual_seed = names["manual_seed"]
"""


@pytest.mark.parametrize(
    "text",
    [
        COMPILED.format(own=True),
        COMPILED.format(own=False),
        "import torch\ntorch.manual_seed = torch.compiler.disable(lambda seed: 1)",
        "import torch, functools\ntorch.manual_seed = functools.partial(lambda seed: 1)",
        "import torch\ntorch.manual_seed = torch.rand",
    ],
)
def test_torch_does_not_vouch_for_other_functions(tmp_path: Path, text: str) -> None:
    assert any("it replaces `torch.manual_seed`" in one for one in watch(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    [
        "import inspect; inspect.getsource = len",
        "import math; math.isclose = max",
        "import struct; struct.pack = max",
        "import sys; sys.excepthook = max",
        "import torch; torch.cuda.Event.elapsed_time = max",
        "import torch.nn.init; torch.nn.init.kaiming_uniform_ = max",
        "import torch; torch.library.Library('aten', 'IMPL')",
    ],
)
def test_other_replaced_functions_are_found(tmp_path: Path, text: str) -> None:
    (found, *_) = watch(tmp_path, text)
    assert found.startswith("tampering it replaces")


def test_a_result_has_a_limited_length(tmp_path: Path) -> None:
    assert len(describe(tmp_path, [torch.ones(1)] * 1024)["outputs"]) == 1024
    assert len(describe(tmp_path, [torch.ones(1)] * 100000)["outputs"]) == 1
