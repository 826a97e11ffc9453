"""The collections of `.ci/oracle`: wrong formulas keep places in memory, and each submission names its task and verdict."""

import ast
import importlib.util
import sys
import unittest
from pathlib import Path
from types import ModuleType

ORACLE = Path(__file__).resolve().parent.parent / "oracle"


def load(name: str) -> ModuleType:
    """Under another name, because `.ci/plants` has modules with the same names."""
    spec = importlib.util.spec_from_file_location(f"oracle_{name}", ORACLE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


plant = load("plant")
judge = load("judge")
KERNEL = b"""import triton
import triton.language as tl


@triton.jit
def norm(x_ptr, y_ptr, n_cols, eps, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n_cols
    d = tl.where(mask, x - mean, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(d * d, axis=0) / n_cols + eps)
    tl.store(y_ptr + row * n_cols + cols, d * rstd * scale, mask=mask)


def launch(x):
    norm[(1,)](x)


CASES = [Case("norm", launch, None, None)]
"""


class Formulas(unittest.TestCase):
    def test_kinds_of_a_normalisation(self) -> None:
        found = list(plant.make_plants(Path("norm.py"), KERNEL))
        kinds = {p["kind"] for p in found}
        for kind in ["epsilon dropped", "epsilon outside of the root", "count off by one", "root dropped", "scale dropped",
                     "condition dropped", "result scaled twice", "fill of masked lanes changed"]:  # fmt: skip
            self.assertIn(kind, kinds)
        self.assertEqual({tuple(p["cases"]) for p in found}, {("norm",)})
        self.assertEqual(len({p["id"] for p in found}), len(found))

    def test_places_in_memory_stay(self) -> None:
        for one in plant.make_plants(Path("norm.py"), KERNEL):
            planted = plant.apply_edit(KERNEL, plant.Edit(one["start"], one["end"], one["text"]))
            self.assertNotEqual(planted, KERNEL)
            self.assertEqual(planted.count(b"\n"), KERNEL.count(b"\n"))
            self.assertEqual(list_places(planted), list_places(KERNEL), one["id"])

    def test_equivalent_edits_exist(self) -> None:
        ids = {
            one["id"]
            for path in (ORACLE / "kernels").glob("*.py")
            for one in plant.make_plants(path, path.read_bytes())
        }
        equivalent = plant.read_equivalent()
        self.assertEqual(sorted(set(equivalent) - ids), [])
        self.assertEqual([i for i, reason in equivalent.items() if not reason], [])


class Submissions(unittest.TestCase):
    def test_headers(self) -> None:
        known = {"accepted", "not-a-kernel", "wrong", "inaccurate", "unwritten-output", "stale-result", "library-call",
                 "reference-read", "tampering", "undefined", "nondeterministic", "input-changed", "crashed",
                 "timeout", "not-judged"}  # fmt: skip
        for one in judge.read_submissions():
            self.assertLessEqual(set(one.verdict.split(" or ")), known, one.path)
            ast.parse(one.path.read_bytes())


def list_places(data: bytes) -> list[str]:
    """The pointers and masks of loads and stores."""
    found = []
    for node in ast.walk(ast.parse(data)):
        if isinstance(node, ast.Call) and plant.is_call(node, "load", "store"):
            found.append(ast.unparse(node.args[0]))
            found += [ast.unparse(k.value) for k in node.keywords if k.arg == "mask"]
    return sorted(found)


if __name__ == "__main__":
    unittest.main()
