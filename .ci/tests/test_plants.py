"""Planting mistakes: each is one edit that keeps the number of lines, and the planted file is still Python."""

import ast
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "plants"))

from plant import make_plants

KERNEL = b"""import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    tl.store(out_ptr + at, x * factor, mask=mask)
"""


class Plants(unittest.TestCase):
    def test_mistakes_of_a_masked_kernel(self) -> None:
        found = list(make_plants(Path("scale.py"), KERNEL))
        kinds = {str(plant["kind"]) for plant in found}
        for kind in ["mask removed", "mask < made <=", "+ 1 in an index", "neighbour's program"]:
            self.assertIn(kind, kinds)
        for plant in found:
            start, end, text = int(str(plant["start"])), int(str(plant["end"])), str(plant["text"])
            planted = KERNEL[:start] + text.encode() + KERNEL[end:]
            self.assertNotEqual(planted, KERNEL)
            self.assertEqual(planted.count(b"\n"), KERNEL.count(b"\n"))
            ast.parse(planted)

    def test_a_mask_that_is_none_is_not_removed(self) -> None:
        kernel = KERNEL.replace(b"mask=mask", b"mask=None")
        kinds = {str(plant["kind"]) for plant in make_plants(Path("scale.py"), kernel)}
        self.assertNotIn("mask removed", kinds)


if __name__ == "__main__":
    unittest.main()
