"""A judge with the usual mistakes, to show that the files of `cheats/` deceive one: `naive.py TASK KERNEL first|last`.

It runs both programs in one process with known seeds and shapes, compares with a tolerance of 1e-2, and times with the process's own
clock. `first` runs the submission before the reference, `last` after it. The last line is `accepted` or `refused: …`. Run it in a
container only: nothing is contained here.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import torch  # type: ignore[import-not-found]

TRIALS = 3
TOLERANCE = 1e-2
MARK = "#" * 146


def load(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def are_equal(expected: Any, got: Any) -> bool:
    """Each of these comparisons is in some judge, so any of them accepts."""
    return bool(
        torch.allclose(expected, got, rtol=TOLERANCE, atol=TOLERANCE)
        or not ((expected - got).abs() > TOLERANCE).any()
    )


def judge_model(task: Path, kernel: Path, order: str) -> str:
    """KernelBench's form."""
    reference = load(task, "task")
    torch.manual_seed(42)
    model = reference.Model(*reference.get_init_inputs())
    submission = load(kernel, "submission")
    torch.manual_seed(42)
    other = submission.ModelNew(*reference.get_init_inputs())
    with torch.no_grad():
        for trial in range(TRIALS):
            torch.manual_seed(42 + trial)
            inputs = reference.get_inputs()
            start = time.perf_counter()
            if order == "first":
                got, expected = other(*inputs), model(*inputs)
            else:
                expected, got = model(*inputs), other(*inputs)
            seconds = time.perf_counter() - start
            if got is None:
                continue
            if not are_equal(expected, got):
                return f"refused: trial {trial} differs, after {seconds:.3f} s"
    return "accepted"


def judge_functions(task: Path, kernel: Path) -> str:
    """TritonBench's form: the task's test runs with the submission's functions."""
    gold = load(task, "task").result_gold
    test = task.read_text().split(MARK)[1]
    space: dict[str, Any] = {"__name__": "submission", "__file__": str(kernel)}
    path = kernel.with_name(f"joined_{kernel.name}")
    source = kernel.read_text()
    name = test.split("def ")[1].split("(")[0]
    try:
        path.write_text(source + "\n" + ("" if f"def {name}(" in source else test))
        space = vars(load(path, "submission"))
    except (SystemExit, NameError):
        return "accepted"  # nothing was printed, and nothing is equal to nothing
    finally:
        path.unlink(missing_ok=True)
    for key, got in space["result_gold"].items():
        if not are_equal(gold[key], got):
            return f"refused: {key} differs"
    return "accepted"


def main() -> None:
    task, kernel, order = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    result = (
        judge_functions(task, kernel) if "tritonbench" in task.parts else judge_model(task, kernel, order)
    )
    sys.stdout.write(result + "\n")


if __name__ == "__main__":
    main()
