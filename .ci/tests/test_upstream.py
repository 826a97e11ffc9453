"""The page that `.ci/upstream` makes from folders of reports, and its checks of them."""

from __future__ import annotations

import contextlib
import io
import pathlib
import tempfile
import unittest

from scripts import load_script

upstream = load_script("upstream")


def write_report(root: pathlib.Path, name: str, kind: str, subject: str, case: str = "dot/wraps") -> None:
    folder = root / "reports" / "upstream" / name
    folder.mkdir(parents=True)
    (folder / "repro.py").write_text("")
    fields = {
        "class": kind,
        "subject": subject,
        "versions": "3.9.0",
        "cases": f"`{case}`",
        "upstream": "new (2026-11-30)",
        "executed": "3.9.0 exits 1",
    }
    rows = [f"| {field} | {value} |" for field, value in fields.items()]
    table = "\n".join(["| field | value |", "|---|---|", *rows])
    (folder / "issue.md").write_text(f"# Title of {name}\n\n{table}\n\n## Describe the bug\n")


class Upstream(unittest.TestCase):
    def setUp(self) -> None:
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.root / "cases" / "dot").mkdir(parents=True)
        (self.root / "cases" / "dot" / "wraps.yaml").write_text("")

    def run_script(self, *arguments: str) -> tuple[int, str]:
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            code: int = upstream.main(list(arguments), self.root)
        return code, errors.getvalue()

    def test_compiler_and_severe_bugs_come_first(self) -> None:
        write_report(self.root, "a", "silent wrong result", "interpreter")
        write_report(self.root, "b", "hang or crash", "LLVM")
        write_report(self.root, "c", "silent wrong result", "compiler")
        self.assertEqual(self.run_script("--check")[0], 1)
        self.assertEqual(self.run_script(), (0, ""))
        self.assertEqual(self.run_script("--check"), (0, ""))
        page = (self.root / "reports" / "upstream" / "README.md").read_text()
        self.assertLess(page.index("Title of c"), page.index("Title of b"))
        self.assertLess(page.index("Title of b"), page.index("Title of a"))
        self.assertIn("| silent wrong result | 1 | 1 |", page)
        self.assertIn("| all | 2 | 1 |", page)

    def test_incomplete_folders_are_errors(self) -> None:
        write_report(self.root, "a", "silent wrong result", "compiler", case="dot/none")
        self.assertEqual(self.run_script(), (1, "error: a: no case `dot/none`\n"))
        folder = self.root / "reports" / "upstream" / "a"
        (folder / "issue.md").write_text("# Title\n\n| class | hang or crash |\n")
        self.assertIn("no subject, versions, cases, upstream, executed", self.run_script()[1])
        (folder / "repro.py").unlink()
        self.assertEqual(self.run_script(), (1, "error: a has no repro.py\n"))

    def test_the_page_of_this_repository_is_up_to_date(self) -> None:
        self.assertEqual(upstream.main(["--check"]), 0)


if __name__ == "__main__":
    unittest.main()
