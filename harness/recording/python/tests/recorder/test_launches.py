"""Recordings of launches, interpreted and compiled."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
import simple
from recorded import HERE, INTERPRETED, VERSION, Memory, Recorded, compiled, interpreted, since

ENGINE = "interpret+host" if INTERPRETED else "cuda"


def numbers(count: int, first: float = 0.0) -> np.ndarray[Any, Any]:
    return np.arange(count, dtype=np.float32) + np.float32(first)


def test_a_launch_is_said_in_full(memory: Memory, record: Callable[..., Any]) -> None:
    x, y, out = (memory.tensor(numbers(100, first)) for first in (0, 1, 2))
    found = record(lambda: simple.add[(2,)](x, y, out, 100, BLOCK=64))
    (launch,) = found.launches
    assert launch["engine"] == ENGINE
    assert launch["target"] == (None if INTERPRETED else 90)
    assert launch["grid"] == [2]
    assert launch["raised"] is None
    assert launch["args"] == [
        ["x_ptr", ["t", 0, "float32", [100], [1], 0]],
        ["y_ptr", ["t", 1, "float32", [100], [1], 0]],
        ["out_ptr", ["t", 2, "float32", [100], [1], 0]],
        ["n", ["i", "100"]],
        ["BLOCK", ["i", "64"]],
    ]
    assert launch["options"] == []
    assert found.contents(launch, "out_ptr", "before") == numbers(100, 2).tobytes()
    if INTERPRETED:
        assert found.contents(launch, "out_ptr", "after") == (2 * numbers(100) + 1).tobytes()
    assert launch["storages"][0]["before"] == launch["storages"][0]["after"]
    (kernel,) = found.frames_of("kernel")
    assert (kernel["function"], kernel["inspectable"], kernel["origin"]) == ("add", True, "simple.py:8")
    (end,) = found.frames_of("end")
    assert (end["launches"], end["kept"], end["repeated"]) == (1, 1, 0)


def test_options_are_kept_apart_from_parameters(memory: Memory, record: Callable[..., Any]) -> None:
    x = memory.tensor(numbers(64))
    (launch,) = record(lambda: simple.fill[(1,)](x, 2.5, num_warps=2, BLOCK=64)).launches
    assert launch["options"] == [["num_warps", ["i", "2"]]]
    assert [name for name, _ in launch["args"]] == ["ptr", "value", "BLOCK"]


def test_views_of_one_storage_share_it(memory: Memory, record: Callable[..., Any]) -> None:
    storage = memory.storage(numbers(100))
    x, y = memory.view(storage, "float32", [10], [2], 0), memory.view(storage, "float32", [10], [2], 3)
    out = memory.tensor(numbers(10))
    (launch,) = record(lambda: simple.add[(1,)](x, y, out, 10, BLOCK=16)).launches
    assert [one["size"] for one in launch["storages"]] == [400, 40]
    assert launch["args"][1] == ["y_ptr", ["t", 0, "float32", [10], [2], 3]]


def launched(memory: Memory, sizes: list[int], value: float = 1.0) -> Callable[[], None]:
    """Launches of one kernel on new tensors."""

    def run() -> None:
        for size in sizes:
            simple.fill[(1,)](memory.tensor(numbers(size)), value, BLOCK=16)

    return run


@pytest.mark.parametrize(
    ("rule", "kept"), [("layout", 2), ("every", 4), ("data", 2), ("1", 1), ("2", 2), ("0", 0)]
)
def test_a_rule_says_what_is_kept(memory: Memory, record: Callable[..., Any], rule: str, kept: int) -> None:
    found = record(launched(memory, [64, 64, 32, 64]), sample=rule)
    assert len(found.launches) == kept
    assert found.counts[:3] == (4, kept, 4 - kept)


def test_other_bytes_are_another_launch_by_the_rule_data(memory: Memory, record: Callable[..., Any]) -> None:
    x = memory.tensor(numbers(16))
    twice = [0.0, 0.0, 1.0]

    def run() -> None:
        for first in twice:
            x._elements()[...] = numbers(16, first).view(np.uint32)
            simple.fill[(1,)](x, 1.0, BLOCK=16)

    assert len(record(run, sample="data").launches) == 2
    assert len(record(run, sample="layout").launches) == 1


def test_numbers_of_floats_are_no_layout(memory: Memory, record: Callable[..., Any]) -> None:
    def run() -> None:
        for value in (1.0, 2.0):
            launched(memory, [16], value)()

    assert record(run).counts.repeated == 1


def test_an_aligned_storage_is_another_layout(memory: Memory, record: Callable[..., Any]) -> None:
    storage = memory.storage(numbers(64))

    def run() -> None:
        for offset in (0, 1, 4):
            simple.fill[(1,)](memory.view(storage, "float32", [16], [1], offset), 1.0, BLOCK=16)

    assert record(run).counts.kept == 3


def test_a_filter_names_kernels(memory: Memory, record: Callable[..., Any]) -> None:
    assert record(launched(memory, [16]), filter=("a*", "b")).counts.filtered == 1
    assert record(launched(memory, [16]), filter=("f?ll",)).counts.kept == 1


def test_large_storages_are_left_out(memory: Memory, record: Callable[..., Any]) -> None:
    x, y, out = memory.tensor(numbers(16)), memory.tensor(numbers(1000)), memory.tensor(numbers(16))
    found = record(lambda: simple.add[(1,)](x, y, out, 16, BLOCK=16), max_bytes=1000)
    (launch,) = found.launches
    assert [one["why"] for one in launch["storages"]] == [None, "max-bytes", None]
    assert launch["storages"][1]["before"] is None and launch["storages"][1]["after"] is None


def test_no_data_reads_nothing(memory: Memory, record: Callable[..., Any]) -> None:
    found = record(launched(memory, [16]), data=False)
    assert [one["why"] for one in found.launches[0]["storages"]] == ["no-data"]
    assert not found.frames_of("bytes")


def test_a_full_file_keeps_layouts(memory: Memory, record: Callable[..., Any]) -> None:
    found = record(launched(memory, [16, 32]), max_size=0)
    assert [one["storages"][0]["why"] for one in found.launches] == ["max-size", "max-size"]


def test_a_grid_is_asked_for_once(memory: Memory, record: Callable[..., Any]) -> None:
    x = memory.tensor(numbers(64))
    asked = []

    def grid(meta: dict[str, Any]) -> tuple[int, int]:
        asked.append(int(meta["BLOCK"]))
        return 1, 2

    (launch,) = record(lambda: simple.fill[grid](x, 1.0, BLOCK=64)).launches
    assert launch["grid"] == [1, 2]
    assert asked == [64]


def test_an_exception_is_recorded_and_passes_on(memory: Memory, record: Callable[..., Any]) -> None:
    x = memory.tensor(numbers(64))
    raised: list[BaseException] = []

    def run() -> None:
        try:
            simple.fails[(1,)](x, BLOCK=4)
        except Exception as error:  # noqa: BLE001
            raised.append(error)

    found = record(run)
    (launch,) = found.launches
    root = raised[0].__cause__ or raised[0]
    assert "power of 2" in str(root)
    assert launch["raised"]["kind"].rpartition(".")[2] == type(root).__name__
    assert launch["raised"]["message"] == str(root)
    assert launch["raised"]["compiling"] is not INTERPRETED
    assert launch["storages"][0]["before"] is not None and launch["storages"][0]["after"] is None


@since(3, 3)
def test_constexprs_may_be_wrapped(memory: Memory, record: Callable[..., Any]) -> None:
    import triton.language as tl

    x = memory.tensor(numbers(64))
    (launch,) = record(lambda: simple.fill[(1,)](x, 1.0, BLOCK=tl.constexpr(64))).launches
    assert launch["args"][2] == ["BLOCK", ["c", ["i", "64"]]]


def test_none_and_bools_and_floats(memory: Memory, record: Callable[..., Any]) -> None:
    x = memory.tensor(numbers(64))
    (launch,) = record(lambda: simple.fill[(1,)](x, -0.0, BLOCK=64)).launches
    assert launch["args"][1] == ["value", ["f", 1 << 63]]
    (launch,) = record(lambda: simple.optional[(1,)](x, None, True, BLOCK=64)).launches
    assert launch["args"][1:3] == [["other", None], ["FLAG", True]]


@since(3, 3)
def test_tuples(memory: Memory, record: Callable[..., Any]) -> None:
    x = memory.tensor(numbers(16))
    (launch,) = record(lambda: simple.pair[(1,)]((x, 2), BLOCK=16)).launches
    assert launch["args"][0] == ["both", ["u", [["t", 0, "float32", [16], [1], 0], ["i", "2"]]]]


@since(3, 3)
def test_named_tuples(memory: Memory, record: Callable[..., Any]) -> None:
    import carried

    point, out = carried.Point(1, 2), memory.tensor(numbers(1))
    (launch,) = record(lambda: carried.by_place[(1,)](point, out)).launches
    said = ["point", ["n", ["x", "y"], [["i", "1"], ["i", "2"]]]]
    assert launch["args"][0] == said
    (launch,) = record(lambda: carried.by_name[(1,)](point, out)).launches
    assert launch["args"][0] == said


@since(3, 3)
def test_functions_come_with_their_text(memory: Memory, record: Callable[..., Any]) -> None:
    x = memory.tensor(numbers(16))
    found = record(lambda: simple.apply[(1,)](x, FUNCTION=simple.double, BLOCK=16))
    (launch,) = found.launches
    assert launch["args"][1] == ["FUNCTION", ["g", "double"]]
    (kernel,) = found.frames_of("kernel")
    assert "def double(x):" in kernel["files"][0]["text"]


def test_a_value_without_a_form_is_skipped(memory: Memory, record: Callable[..., Any]) -> None:
    def run() -> None:
        # Triton has no form for it either.
        with contextlib.suppress(Exception):
            simple.fill[(1,)](memory.tensor(numbers(16)), object(), BLOCK=16)

    found = record(run)
    assert found.counts.reasons == {("fill", "`value` is a object"): 1}
    assert [(one["kernel"], one["count"]) for one in found.frames_of("skipped")] == [("fill", 1)]


class Wrapper:
    """What a library passes in the place of a tensor: no storage, no offset."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.dtype = tensor.dtype
        self.shape = tensor.shape

    def data_ptr(self) -> int:
        address: int = self.tensor.data_ptr()
        return address

    def stride(self) -> list[int]:
        return [int(one) for one in self.tensor.stride()]


@compiled
def test_wrappers_are_the_tensors_that_they_hold(memory: Memory, record: Callable[..., Any]) -> None:
    storage = memory.storage(numbers(64))
    view = memory.view(storage, "float32", [4, 4], [8, 2], 5)
    found = record(lambda: simple.fill[(1,)](Wrapper(view), 1.0, BLOCK=16))
    (launch,) = found.launches
    assert launch["args"][0] == ["ptr", ["t", 0, "float32", [4, 4], [8, 2], 5]]
    assert found.contents(launch, "ptr", "before") == numbers(64).tobytes()


@interpreted
@since(3, 6)
def test_what_a_hook_does_is_no_part_of_the_launch(memory: Memory, record: Callable[..., Any]) -> None:
    kernel = simple.fill
    x = memory.tensor(numbers(16))

    def hook(ptr: Any, *args: Any, **kwargs: Any) -> None:
        ctypes.memset(ptr.data_ptr(), 0, 64)

    kernel.add_pre_run_hook(hook)
    try:
        found = record(lambda: kernel[(1,)](x, 1.0, BLOCK=16))
    finally:
        kernel.pre_run_hooks.clear()
    (launch,) = found.launches
    assert not any(found.contents(launch, "ptr", "before"))
    assert any(found.contents(launch, "ptr", "after"))


@interpreted
def test_a_launch_that_kills_its_process_is_on_record(tmp_path: Path) -> None:
    script = f"""
import sys
sys.path[:0] = {sys.path!r}
from recorded import Memory, Recorder
import simple
import numpy as np
Recorder({str(tmp_path)!r}).start()
memory = Memory()
simple.fill[(1,)](memory.tensor(np.zeros(16, np.float32)), 1.0, BLOCK=16)
simple.dies[(1,)](memory.tensor(np.zeros(16, np.float32)), BLOCK=16)
"""
    died = subprocess.run([sys.executable, "-c", script], check=False, cwd=HERE)
    assert died.returncode == -signal.SIGKILL
    launches = Recorded(tmp_path).launches
    assert ["raised" in launch for launch in launches] == [True, False]


@interpreted
def test_addresses_are_found(memory: Memory, record: Callable[..., Any]) -> None:
    target, out = memory.tensor(numbers(16)), memory.tensor(numbers(8))
    table = memory.tensor(np.array([target.data_ptr() + 8], dtype=np.int64))

    def run() -> None:
        simple.through[(1,)](table, out, BLOCK=4)
        # One that is unknown.
        simple.fill[(1,)](memory.tensor(np.array([1 << 40], dtype=np.int64)), 1, BLOCK=1)

    (first, second) = record(run).launches
    # Its storage is not an argument, and without torch it cannot be found.
    assert first["storages"][0]["addresses"] == []
    assert second["storages"][0]["addresses"] == []
    inside = memory.tensor(np.array([out.data_ptr()], dtype=np.int64))
    (launch,) = record(lambda: simple.through[(1,)](inside, out, BLOCK=4)).launches
    assert launch["storages"][0]["addresses"] == [[0, 1, 0]]


def test_addresses_passed_as_integers(memory: Memory, record: Callable[..., Any]) -> None:
    x, number = memory.tensor(numbers(16)), 1 << 45

    def run() -> None:
        for value in (x.data_ptr() + 8, number):
            simple.fill[(1,)](x, value, BLOCK=1)

    passed = [launch["args"][1] for launch in record(run).launches]
    assert passed == [["value", ["a", 0, 8]], ["value", ["i", str(number)]]]


def test_an_address_moves_with_its_storage(memory: Memory, record: Callable[..., Any]) -> None:
    def run() -> None:
        # Two launches of one layout.
        for _ in range(2):
            x = memory.tensor(numbers(16))
            simple.fill[(1,)](x, x.data_ptr(), BLOCK=1)

    found = record(run)
    assert (found.counts.kept, found.counts.repeated) == (1, 1)


def test_several_recorders_hear_of_each_launch(memory: Memory, record: Callable[..., Any]) -> None:
    inner: list[Any] = []

    def run() -> None:
        launched(memory, [16])()
        inner.append(record(launched(memory, [32])))

    found = record(run)
    assert (len(found.launches), len(inner[0].launches)) == (2, 1)
    assert inner[0].launches[0]["kernel"] == 0
    launched(memory, [64])()
    assert len(found.launches) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_has_a_file_of_its_own(memory: Memory, record: Callable[..., Any]) -> None:
    from cerith_triton.recorder import stop_all

    def run() -> None:
        launched(memory, [16])()
        child = os.fork()
        if child == 0:
            try:
                launched(memory, [32])()
                stop_all()
            finally:
                os._exit(0)
        os.waitpid(child, 0)

    found = record(run)
    assert len({one["pid"] for one in found.frames_of("process")}) == 2
    assert [one["kept"] for one in found.frames_of("end")] == [1, 1]
    assert [one["kernel"] for one in found.launches] == [0, 0]


@interpreted
def test_a_gpus_tensors_are_read_there(memory: Memory, record: Callable[..., Any]) -> None:
    x = memory.tensor(numbers(16), device="cuda")
    found = record(lambda: simple.fill[(1,)](x, 3.0, BLOCK=16))
    (launch,) = found.launches
    assert launch["engine"] == "interpret"
    assert found.contents(launch, "ptr", "before") == numbers(16).tobytes()
    assert found.contents(launch, "ptr", "after") == np.full(16, 3.0, np.float32).tobytes()


@interpreted
@since(3, 4)
def test_descriptors(memory: Memory, record: Callable[..., Any]) -> None:
    import described
    from triton.tools.tensor_descriptor import TensorDescriptor

    x = memory.tensor(numbers(256).reshape(16, 16))
    descriptor = TensorDescriptor(x, [16, 16], [16, 1], [8, 8])
    found = record(lambda: described.negate[(1,)](descriptor, BLOCK=8))
    (launch,) = found.launches
    assert launch["args"][0] == [
        "desc",
        ["b", [0, "float32", [16, 16], [16, 1], 0], [16, 16], [16, 1], [8, 8], [None, False]],
    ]


@compiled
def test_benchmarks_are_not_recorded(memory: Memory, record: Callable[..., Any]) -> None:
    import tuned

    x = memory.tensor(numbers(64))
    found = record(lambda: tuned.tuned[(1,)](x, 2))
    (launch,) = found.launches
    assert found.counts.launches == 1
    values = dict(launch["args"])
    assert (values["TWICE"], values["BLOCK"]) == (True, ["i", "32"])
    assert ["num_warps", ["i", "2"]] in launch["options"]
    text = found.frames_of("kernel")[0]["files"][0]["text"]
    assert "autotune" not in text and "heuristics" not in text


@interpreted
@since(3, 3)
def test_a_tuner_without_a_gpu_takes_the_configuration_that_is_named(tmp_path: Path) -> None:
    script = f"""
import sys
sys.path[:0] = {sys.path!r}
from recorded import Memory, Options, Recorder
import numpy as np
recorder = Recorder({str(tmp_path)!r}, Options(config=1)).start()
import tuned
x = Memory().tensor(np.zeros(64, np.float32))
for value in (2, 3):
    tuned.tuned[(1,)](x, value)
recorder.stop()
"""
    ran = subprocess.run(
        [sys.executable, "-c", script], check=False, cwd=HERE, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    launches = Recorded(tmp_path).launches
    assert [dict(launch["args"])["BLOCK"] for launch in launches] == [["i", "64"], ["i", "64"]]
    assert ran.stderr.count("there is no GPU to tune `tuned` with") == 1


def test_a_launch_names_the_test_that_runs(memory: Memory, record: Callable[..., Any]) -> None:
    (launch,) = record(launched(memory, [16])).launches
    assert launch["test"].endswith("test_launches.py::test_a_launch_names_the_test_that_runs")


@interpreted
def test_heuristics_are_kept_as_decided(memory: Memory, record: Callable[..., Any]) -> None:
    x = memory.tensor(numbers(64))
    found = record(lambda: simple.single[(1,)](x, 2))
    (launch,) = found.launches
    assert dict(launch["args"])["BLOCK"] == ["i", "32"]
    text = found.frames_of("kernel")[0]["files"][0]["text"]
    assert "heuristics" not in text
    assert "@triton.jit(do_not_specialize=['value'])\n#" in text


@compiled
def test_kernels_that_were_compiled_before(memory: Memory, record: Callable[..., Any]) -> None:
    x = memory.tensor(numbers(64))
    ready = simple.fill.warmup(x, 1.0, BLOCK=64, num_warps=2, grid=(1,))
    args = (x, 2.0, 64) if VERSION >= (3, 3) else (x, 2.0)
    (launch,) = record(lambda: ready[(3, 1, 1)](*args)).launches
    assert launch["grid"] == [3, 1, 1]
    assert [value for _, value in launch["args"][1:]] == [["f", 2**62], ["i", "64"]]
    assert ["num_warps", ["i", "2"]] in launch["options"]


@compiled
def test_warming_up_is_no_launch(memory: Memory, record: Callable[..., Any]) -> None:
    x = memory.tensor(numbers(64))
    assert record(lambda: simple.fill.warmup(x, 1.0, BLOCK=64, grid=(1,))).counts.launches == 0


@interpreted
def test_kernels_made_by_exec(memory: Memory, record: Callable[..., Any]) -> None:
    import made

    x = memory.tensor(numbers(16))
    found = record(lambda: [made.made(word)[(1,)](x, BLOCK=16) for word in ("1.0", "2.0")])
    texts = [kernel["files"][0]["text"] for kernel in found.frames_of("kernel")]
    assert [kernel["inspectable"] for kernel in found.frames_of("kernel")] == [False, False]
    assert ["+ 1.0" in text for text in texts] == [True, False]
    assert all(one["raised"] is None for one in found.launches)


@interpreted
@since(3, 6)
def test_a_kernel_made_by_exec_is_told_from_others(memory: Memory, record: Callable[..., Any]) -> None:
    # Code compiled between a text's beginning and its kernel has the kernel's name, elsewhere.
    other = "\n\n\n\n\n\n\ndef odd(ptr, BLOCK):\n    pass\n"
    text = (
        f"compile({other!r}, '<string>', 'exec')\n"
        "import triton\nimport triton.language as tl\n"
        "@triton.jit\ndef odd(ptr, BLOCK: tl.constexpr):\n    tl.store(ptr + tl.arange(0, BLOCK), 7.0)\n"
    )
    names: dict[str, Any] = {}

    def run() -> None:
        exec(text, names)  # noqa: S102
        names["odd"][(1,)](memory.tensor(numbers(16)), BLOCK=16)

    (kernel,) = record(run).frames_of("kernel")
    assert "7.0" in kernel["files"][0]["text"]


@compiled
@since(3, 3)
def test_text_that_was_replaced_counts(memory: Memory, record: Callable[..., Any]) -> None:
    import triton

    x = memory.tensor(numbers(16))
    kernel = triton.JITFunction(simple.fill.fn)
    kernel._unsafe_update_src(simple.fill.src.replace("value)", "value + 1)"))
    found = record(lambda: [kernel[(1,)](x, 1.0, BLOCK=16), simple.fill[(1,)](x, 1.0, BLOCK=16)])
    texts = [kernel["files"][0]["text"] for kernel in found.frames_of("kernel")]
    assert ["value + 1)" in text for text in texts] == [True, False]
