"""The page that `.ci/libraries` makes from results."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import tempfile
import unittest
from typing import Any

from scripts import load_script


def make_line(name: str, result: str, **more: Any) -> dict[str, Any]:
    """A line of results."""
    return {"file": "lib-x-1.2/ops/rows.py", "kernel": name, "result": result, "launches": 3, **more}


def make_finding(kind: str, text: str) -> dict[str, Any]:
    """A thing that launches show."""
    return {"engine": "reference", "kind": kind, "place": "rows.py:7", "text": text, "launches": [""]}


LINES = [
    make_line("good", "clean"),
    make_line(
        "bad",
        "found",
        findings=[make_finding("trapped out-of-bounds", "error[out-of-bounds]: load of 4 bytes")],
    ),
    make_line("worse", "found", findings=[make_finding("trapped race", "error[race]: store")]),
    make_line(
        "unmasked",
        "found",
        preconditions=[
            {
                **make_finding("unmasked", "precondition[unmasked]: `x`"),
                "unless": ["`BLOCK` divides the number of their elements"],
            }
        ],
    ),
    make_line("inner", "not-tried", why="it is a function that kernels call"),
    make_line("gluon", "not-tried", why="it is written in Gluon, not in Triton"),
    make_line(
        "a",
        "not-judged",
        not_judged=[make_finding("rejected rejected", "error[rejected]: `x` is 3, of fp32\n  --> here")],
    ),
    make_line(
        "b",
        "not-judged",
        not_judged=[make_finding("rejected rejected", "error[rejected]: `y` is 48, of int8\n  --> here")],
    ),
    make_line("c", "not-judged", not_judged=[make_finding("trapped race", "error[race]: store of bytes")]),
]

LOOKED: list[dict[str, Any]] = [
    {
        "library": "lib-x",
        "version": "1.2",
        "file": "ops/rows.py",
        "kernel": "bad",
        "is": "wrong",
        "words": "the mask has one lane too many.",
    },
    {
        "library": "lib-x",
        "version": "1.2",
        "file": "ops/rows.py",
        "kernel": "a",
        "is": "harmless",
        "words": "no caller passes that.",
    },
    {
        "library": "lib-x",
        "version": "1.2",
        "file": "ops/rows.py",
        "kernel": "unmasked",
        "is": "launcher",
        "words": "the launcher asserts it.",
        "precondition": True,
    },
]


class Libraries(unittest.TestCase):
    """The page, line by line."""

    def write_page(self, lines: list[dict[str, Any]], *more: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder) / "lib-x-1.2.jsonl"
            results.write_text("".join(json.dumps(line) + "\n" for line in lines))
            looked = pathlib.Path(folder) / "looked.json"
            looked.write_text(json.dumps(LOOKED))
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                asked = ["--date", "2026-11-24", "--looked", str(looked), *more, str(results)]
                code = load_script("libraries").main(asked)
        self.assertEqual(code, 0)
        return out.getvalue().splitlines()

    def test_kernels_are_counted_and_functions_are_not(self) -> None:
        page = self.write_page(LINES)
        self.assertIn("| lib-x | 1.2 | 8 | 4 | 2 | 1 | 3 | 1 |", page)
        self.assertIn("| **all** |  | 8 | 4 | 2 | 1 | 3 | 1 |", page)
        self.assertIn("installed, without a GPU: 8 kernels, of which 4 (50 %) were judged.", page)

    def test_reasons_that_differ_in_names_are_one(self) -> None:
        page = self.write_page(LINES)
        self.assertIn("| 2 | … is n, of … |", page)
        self.assertIn("| 1 | its guessed arguments do not fit: race |", page)
        self.assertIn("| 1 | it is written in Gluon, not in Triton |", page)

    def test_findings_say_what_they_are(self) -> None:
        page = self.write_page(LINES)
        self.assertIn(
            "- lib-x 1.2, `ops/rows.py:bad` (out-of-bounds at rows.py:7): **wrong**: the mask has one lane too many.",
            page,
        )
        self.assertIn("- lib-x 1.2, `ops/rows.py:worse` (race at rows.py:7): not reviewed", page)

    def test_a_kernel_that_is_not_judged_may_be_looked_into(self) -> None:
        line = "- lib-x 1.2, `ops/rows.py:a` (rejected at rows.py:7): **harmless as the library launches it**: no caller passes that."
        self.assertIn(line, self.write_page(LINES))

    def test_preconditions_are_not_findings(self) -> None:
        page = self.write_page(LINES)
        said = "Kernels with preconditions: 1. A reader reviewed those of 1. The library guarantees those of 1 (100 %):"
        self.assertIn(said, page)
        self.assertIn(
            "| 1 | the launcher guarantees it: it asserts it, allocates the tensor, or computes the number |",
            page,
        )
        self.assertIn("| 1 | … divides the number of their elements |", page)
        self.assertFalse([line for line in page if "rows.py:unmasked" in line])

    def test_judgements_are_counted(self) -> None:
        page = self.write_page(LINES)
        self.assertIn("| 1 | wrong |", page)
        self.assertIn("| 1 | not reviewed |", page)

    def test_added_libraries_have_a_total(self) -> None:
        page = self.write_page(LINES, "--added", "lib-x")
        self.assertIn("| **the 1 new libraries** |  | 8 | 4 | 2 | 1 | 3 | 1 |", page)

    def test_a_library_without_findings_says_so(self) -> None:
        self.assertIn("No kernel has a finding.", self.write_page(LINES[:1]))


if __name__ == "__main__":
    unittest.main()
