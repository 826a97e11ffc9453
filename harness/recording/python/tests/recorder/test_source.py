"""A kernel's text: what comes along, and what it may import."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import carried
import pytest

from cerith_triton.failures import Unsayable
from cerith_triton.source import source_of


def files_of(kernel: Any, *extras: Any) -> dict[str, str]:
    return dict(source_of(kernel, extras).files)


def imports_of(text: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module).partition(".")[0])
    return found


def check_alone(files: dict[str, str], folder: Path, name: str) -> None:
    """The files are imported where there is nothing else."""
    for file, text in files.items():
        (folder / file).write_text(text)
        own = {other.partition(".")[0] for other in files}
        assert imports_of(text) <= {"triton", "enum", "math", "typing", "collections", "__future__"} | own
    worker = Path(__file__).resolve().parents[4] / "worker"
    # Some versions ask for a torch when they are imported.
    code = f"""
import sys
from importlib.util import find_spec

sys.path[:0] = [{str(folder)!r}, {str(worker)!r}]
if find_spec("torch") is None:
    from cerith_worker.fake_driver import show_triton_a_torch
    show_triton_a_torch()
import {name}
assert callable({name}.{name}.fn)
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=folder)


def test_everything_that_is_needed_comes_along(tmp_path: Path) -> None:
    files = files_of(carried.everything)
    assert list(files) == ["everything.py", "other_ops.py", "other_ops_nested.py"]
    check_alone(files, tmp_path, "everything")
    text = files["everything.py"]
    assert "LIMIT: tl.constexpr = 7\n" in text
    assert "OFFSET = tl.constexpr(3)\n" in text
    assert 'INFINITE: tl.constexpr = float("inf")\n' in text
    assert "KIND = tl.float32\n" in text
    assert "BLOCK = 16\n" in text
    assert "import constexpr as Ints\n" in text
    assert "    # Kept, as it is written.\n" in text
    assert "UNUSED" not in text and "outlined" not in text and "Mode" not in text
    assert "from other_ops import scale as rescale" in text


def test_the_line_that_makes_a_kernel_says_what_it_said() -> None:
    text = files_of(carried.everything)["everything.py"]
    assert re.search(r"@triton\.jit\(do_not_specialize=\['n'\]\)\n# .*\ndef everything\(", text)
    text = files_of(carried.outlined)["outlined.py"]
    assert re.search(r"@triton\.jit\(noinline=True\)\n# .*\ndef outlined\(", text)


@pytest.mark.parametrize("name", ["everything", "outlined", "modes", "uses_pairs", "recursive"])
def test_it_is_said_where_lines_come_from(name: str) -> None:
    found = 0
    for text in files_of(getattr(carried, name)).values():
        lines = text.splitlines()
        for at, line in enumerate(lines):
            marker = re.fullmatch(r"# cerith_triton: the next (\d+) lines are (.+):(\d+):(\d+)", line)
            if marker is None:
                continue
            count, first, column = int(marker[1]), int(marker[3]), int(marker[4])
            there = Path(marker[2]).read_text("utf-8").splitlines()[first - 1 : first - 1 + count]
            assert len(there) == count
            for own, original in zip(lines[at + 1 : at + 1 + count], there):
                # Annotations are left out; whatever else there is begins alike.
                assert original[column - 1 :].startswith(own.rstrip("\\").split("(")[0])
            found += 1
    assert found


@pytest.mark.parametrize(
    "name", ["modes", "counts", "cosine", "recursive", "uses_pairs", "twice_named", "logarithm"]
)
def test_it_stands_alone(name: str, tmp_path: Path) -> None:
    files = files_of(getattr(carried, name))
    check_alone(files, tmp_path, name)


def test_what_triton_keeps_to_itself_comes_along() -> None:
    assert "def _log2(" in files_of(carried.logarithm)["triton_language_standard.py"]


def test_one_name_for_two_things_makes_another_file(tmp_path: Path) -> None:
    first, second = carried.closed(1, carried.inner), carried.closed(2, carried.outlined)
    text = files_of(first)["closure.py"]
    assert "step = 1\n" in text and "function = inner\n" in text
    assert "step = 2\n" in files_of(second)["closure.py"]
    assert source_of(first).digest != source_of(second).digest
    both = carried.closed(5, first)
    files = files_of(both)
    check_alone(files, tmp_path, "closure")
    assert len(files) == 2


def test_annotations_that_need_what_triton_does_not_are_left_out() -> None:
    text = files_of(carried.annotated)["annotated.py"]
    assert 'def annotated(ptr, other: "Torchlike" = None, n: tl.int32 = 4):' in text


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("refuses", "`refuses` uses `UNUSED`, which is a object"),
        ("passes_modules", "`passes_modules` uses the module `other_ops` as a value"),
    ],
)
def test_what_a_file_cannot_say_has_a_reason(name: str, why: str) -> None:
    with pytest.raises(Unsayable, match=why):
        source_of(getattr(carried, name))


def test_arguments_get_names() -> None:
    source = source_of(carried.modes, [carried.Mode.PLUS, carried.inner, carried.other_ops.scale])
    assert list(source.names.values()) == ["Mode.PLUS", "inner", "scale"]
    assert "def scale" not in source.files[0][1]


def test_a_global_that_changes_makes_another_text(monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of(carried.inner)
    assert source.current()
    monkeypatch.setattr(carried, "LIMIT", 8)
    assert not source.current()
    assert source_of(carried.inner).digest != source.digest


def test_a_kernels_file_hides_no_module() -> None:
    assert source_of(carried.copy).files[0][0] == "copy_kernel.py"
