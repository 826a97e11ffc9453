"""The recorder on a GPU, with torch: `gpu.py [FOLDER]` says what holds, and what a recorded launch costs.

Needs only torch and its Triton. Its recordings stay in FOLDER, if that is given.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, Callable, NamedTuple

os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch
import triton
import triton.language as tl
from part_frames import frames

from cerith_triton.recorder import Options, Recorder

DEVICE = "cuda"
FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201, N803
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x + y, mask=at < n)


@triton.autotune(
    configs=[triton.Config({"BLOCK": 32 << at}, num_warps=1 << at) for at in range(3)],
    key=["n"],
    restore_value=["ptr"],
)
@triton.heuristics({"EVEN": lambda args: args["n"] % 2 == 0})
@triton.jit
def grow(ptr, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201, N803
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(ptr + at, mask=at < n)
    tl.store(ptr + at, x + (1 if EVEN else 2), mask=at < n)


@triton.jit
def negate(desc, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201, N803
    at = [tl.program_id(0) * BLOCK, 0]
    desc.store(at, -desc.load(at))


@triton.jit
def through(table, out, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201, N803
    ptr = tl.load(table).to(tl.pointer_type(tl.float32))
    tl.store(out + tl.arange(0, BLOCK), tl.load(ptr + tl.arange(0, BLOCK)))


class Rows(NamedTuple):
    out: Any
    count: int


@triton.jit
def write_at_address(address, rows, number):  # noqa: ANN001, ANN201
    lanes = tl.arange(0, 8)
    x = tl.load(address.to(tl.pointer_type(tl.float32)) + lanes, mask=lanes < rows.count)
    tl.store(rows.out + lanes, x + (number >> 45))


class Recorded:
    """A recording of what a function launches."""

    def __init__(self, run: Callable[[], object], **options: Any) -> None:
        folder = FOLDER / run.__name__
        folder.mkdir(parents=True, exist_ok=True)
        recorder = Recorder(folder, Options(**options)).start()
        try:
            run()
            torch.cuda.synchronize()
        finally:
            self.counts = recorder.stop()
        self.frames: list[dict[str, Any]] = []
        self.bytes: dict[str, bytes] = {}
        self.launches: list[dict[str, Any]] = []
        for frame, content in frames(folder):
            if frame["frame"] == "bytes":
                self.bytes[frame["hash"]] = content
            elif frame["frame"] == "launch":
                self.launches.append(frame)
            elif frame["frame"] == "ended":
                self.end(frame)
            self.frames.append(frame)

    def end(self, ended: dict[str, Any]) -> None:
        """Puts the end of a launch into its frame."""
        launch = next(one for one in self.launches if one["launch"] == ended["launch"])
        launch["raised"] = ended.get("raised")
        for storage, after in zip(launch["storages"], ended.get("after", ())):
            storage["after"] = after

    def content(self, launch: dict[str, Any], name: str, when: str) -> torch.Tensor:
        storage = next(one for one in launch["storages"] if one["name"] == name)
        return torch.frombuffer(bytearray(self.bytes[storage[when]]), dtype=torch.float32)


def vector_add() -> None:
    x, y = torch.rand(1000, device=DEVICE), torch.rand(2000, device=DEVICE)[::2]
    out = torch.full_like(x, 7)

    def launched() -> None:
        for _ in range(3):
            add[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, out, 1000, BLOCK=256)

    found = Recorded(launched)
    assert found.counts[:3] == (3, 1, 2), found.counts
    (launch,) = found.launches
    major, minor = torch.cuda.get_device_capability()
    assert (launch["engine"], launch["target"], launch["grid"]) == ("cuda", major * 10 + minor, [4])
    assert found.content(launch, "out_ptr", "before").eq(7).all()
    assert torch.equal(found.content(launch, "out_ptr", "after"), out.cpu())
    assert launch["raised"] is None


def autotuned() -> None:
    x = torch.zeros(1000, device=DEVICE)

    def tuned() -> None:
        grow[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, 1000)

    found = Recorded(tuned)
    assert found.counts.launches == 1, found.counts
    (launch,) = found.launches
    values = dict(launch["args"])
    assert values["EVEN"] is True
    assert int(values["BLOCK"][1]) == grow.best_config.kwargs["BLOCK"]
    assert ["num_warps", ["i", str(grow.best_config.num_warps)]] in launch["options"]
    assert found.content(launch, "ptr", "before").eq(0).all()
    assert found.content(launch, "ptr", "after").eq(1).all()


def descriptors() -> None:
    from triton.tools.tensor_descriptor import TensorDescriptor

    x = torch.rand(64, 32, device=DEVICE)
    expected = -x.cpu()

    def described() -> None:
        negate[(4,)](TensorDescriptor.from_tensor(x, [16, 32]), BLOCK=16)

    found = Recorded(described)
    (launch,) = found.launches
    assert launch["args"][0][1][0] == "b"
    assert torch.equal(found.content(launch, "desc", "after"), expected.flatten())


def addresses() -> None:
    target, out = torch.rand(64, device=DEVICE), torch.zeros(8, device=DEVICE)
    table = torch.tensor([target[16:].data_ptr()], device=DEVICE)

    def pointed() -> None:
        through[(1,)](table, out, BLOCK=8)

    (launch,) = Recorded(pointed).launches
    assert launch["storages"][0]["addresses"] == [[0, 2, 64]], launch["storages"]


def rejected() -> None:
    x = torch.rand(64, device=DEVICE)

    def refused() -> None:
        with contextlib.suppress(Exception):
            add[(1,)](x, x, x, 64, BLOCK=3)

    (launch,) = Recorded(refused).launches
    assert launch["raised"]["compiling"], launch["raised"]


def compiled_before() -> None:
    x = torch.rand(256, device=DEVICE)
    out = torch.zeros_like(x)
    ready = add.warmup(x, x, out, 256, BLOCK=256, grid=(1,))

    def ready_made() -> None:
        ready[(1, 1, 1)](x, x, out, 256, 256)

    found = Recorded(ready_made)
    (launch,) = found.launches
    assert torch.equal(found.content(launch, "out_ptr", "after"), (x + x).cpu())


def captured() -> None:
    x, out = torch.rand(256, device=DEVICE), torch.zeros(256, device=DEVICE)
    add[(1,)](x, x, out, 256, BLOCK=256)

    def graph() -> None:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            add[(1,)](x, x, out, 256, BLOCK=256)
        graph.replay()
        add[(1,)](x, x, out, 256, BLOCK=256)

    found = Recorded(graph)
    assert (found.counts.kept, found.counts.skipped) == (2, 0), found.counts
    inside, outside = found.launches
    assert [storage["why"] for storage in inside["storages"]] == ["cuda-graph"] * 2
    assert torch.equal(found.content(outside, "out_ptr", "after"), out.cpu())


def passed() -> None:
    x, out = torch.rand(64, device=DEVICE), torch.zeros(8, device=DEVICE)

    def integers() -> None:
        write_at_address[(1,)](x[16:].data_ptr(), Rows(out, 8), 1 << 45)

    (launch,) = Recorded(integers).launches
    said = dict(launch["args"])
    assert said["address"] == ["a", 1, 64], said
    assert said["rows"] == ["n", ["out", "count"], [["t", 0, "float32", [8], [1], 0], ["i", "8"]]], said
    assert said["number"] == ["i", str(1 << 45)], said
    assert torch.equal(out, x[16:24] + 1)


def inductor() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x * y.sin() + 1, -1).sum(0)

    x, y = torch.randn(300, 70, device=DEVICE), torch.randn(300, 70, device=DEVICE)
    made = torch.compile(function)

    def compiled() -> None:
        for _ in range(3):
            torch.testing.assert_close(made(x, y), function(x, y))

    found = Recorded(compiled)
    assert found.launches and not found.counts.skipped, found.counts
    for launch in found.launches:
        assert launch["engine"] == "cuda" and launch["raised"] is None
        assert any(one["before"] != one["after"] for one in launch["storages"]), launch
    for kernel in found.frames:
        if kernel["frame"] == "kernel":
            for file in kernel["files"]:
                # A module of torch's that comes as text has its name in its file's.
                text = file["text"].replace("torch__inductor", "")
                assert "import torch" not in text and "from torch" not in text, text


def inductor_tunes() -> None:
    from torch._inductor import config

    def function(x: torch.Tensor) -> torch.Tensor:
        return x.t().contiguous() + 1

    x = torch.randn(512, 384, device=DEVICE)

    def tuned_by_inductor() -> None:
        with config.patch(max_autotune_pointwise=True, max_autotune=True):
            torch.compile(function)(x)

    found = Recorded(tuned_by_inductor)
    (launch,) = found.launches
    assert found.counts.launches == 1, found.counts
    storage = launch["storages"][-1]
    assert storage["before"] != storage["after"]


def user_kernel_in_inductor() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        add[(4,)](x, x, out, 1000, BLOCK=256)
        return out * 2

    x = torch.rand(1000, device=DEVICE)

    def user_kernel() -> None:
        torch.testing.assert_close(torch.compile(function)(x), x * 4)

    found = Recorded(user_kernel)
    names = {frame["function"] for frame in found.frames if frame["frame"] == "kernel"}
    assert any("add" in name for name in names), names


def nothing_changes() -> None:
    torch.manual_seed(0)
    before, memory = torch.cuda.get_rng_state(), torch.cuda.memory_allocated()
    on_cpu = torch.get_rng_state()
    held = [torch.ones(1000, device=DEVICE)]
    torch.cuda.reset_peak_memory_stats()
    peak = torch.cuda.max_memory_allocated()

    def unchanged() -> None:
        add[(4,)](*held, *held, *held, 1000, BLOCK=256)

    Recorded(unchanged)
    assert torch.equal(torch.cuda.get_rng_state(), before) and torch.equal(torch.get_rng_state(), on_cpu)
    assert torch.cuda.max_memory_allocated() == peak
    held.clear()
    assert torch.cuda.memory_allocated() == memory


def cost() -> None:
    x, y = torch.rand(1 << 16, device=DEVICE), torch.rand(1 << 16, device=DEVICE)
    out = torch.empty_like(x)

    def loop(count: int) -> float:
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(count):
            add[(64,)](x, y, out, 1 << 16, BLOCK=1024)
        torch.cuda.synchronize()
        return (time.perf_counter() - began) / count * 1e6

    loop(100)
    without = min(loop(1000) for _ in range(5))
    figures: dict[str, float] = {}

    def repeated() -> None:
        loop(10)
        figures["repeated"] = min(loop(1000) for _ in range(5))

    def measure_kept() -> None:
        figures["kept"] = min(loop(50) for _ in range(3))

    Recorded(repeated)
    Recorded(measure_kept, sample="every")
    made = torch.compile(lambda x, y: x * y + 1)
    made(x, y)

    def wrapped(count: int) -> float:
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(count):
            made(x, y)
        torch.cuda.synchronize()
        return (time.perf_counter() - began) / count * 1e6

    plain = min(wrapped(1000) for _ in range(5))

    def repeated_in_inductor() -> None:
        wrapped(10)
        figures["inductor"] = min(wrapped(1000) for _ in range(5))

    Recorded(repeated_in_inductor)
    print(
        f"a launch of 2^16 elements, us: {without:.1f} alone, {figures['repeated']:.1f} recorded and known, "
        f"{figures['kept']:.1f} kept with its 768 KiB; torch.compile: {plain:.1f} alone, "
        f"{figures['inductor']:.1f} recorded and known"
    )


def main() -> None:
    failed = 0
    print(f"torch {torch.__version__}, Triton {triton.__version__}, {torch.cuda.get_device_name()}, {FOLDER}")
    checks = (
        vector_add,
        autotuned,
        descriptors,
        addresses,
        rejected,
        compiled_before,
        captured,
        passed,
        inductor,
        inductor_tunes,
        user_kernel_in_inductor,
        nothing_changes,
        cost,
    )
    for check in checks:
        try:
            check()
            print(f"ok {check.__name__}", flush=True)
        except Exception:  # noqa: BLE001 (every check is tried)
            failed += 1
            print(f"FAILED {check.__name__}\n{traceback.format_exc()}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
