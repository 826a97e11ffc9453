"""Recording and gating in a program of one's own, with real launches."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent / "example"

BEGIN = """
import asyncio, sys
import torch, triton
import cerith_triton
from kernels import add_kernel, unmasked_kernel

def right(n=64):
    x, out = torch.ones(n), torch.empty(n)
    add_kernel[(1,)](x, x, out, n, BLOCK=64)
    return out

def wrong():
    x, out = torch.ones(100), torch.empty(100)
    unmasked_kernel[(2,)](x, out, 100, BLOCK=64)
    return out
"""


@pytest.fixture
def program(tmp_path: Path, interpreted: None) -> Path:
    shutil.copy(EXAMPLE / "kernels.py", tmp_path)
    return tmp_path


def run(folder: Path, text: str) -> str:
    """What a program prints that goes on with `text`."""
    (folder / "program.py").write_text(BEGIN + text)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_block_is_recorded_and_what_is_outside_of_it_is_not(program: Path) -> None:
    said = run(
        program,
        """
right(1)
with cerith_triton.record("recording") as recording:
    right(); right(); right(32)
    wrong()
right(2)
print(recording.counts)
""",
    )
    assert "launches=4, kept=3, repeated=1" in said
    about = json.loads((program / "recording/recording.json").read_text())
    assert (about["launches"], about["cases"], about["kernels"]) == (4, 3, 2)
    assert (program / "recording/add_kernel/add_kernel.py").is_file()


def test_without_data_no_bytes_are_kept(program: Path) -> None:
    run(program, 'with cerith_triton.record("recording", data=False, filter=["add*"]): right(); wrong()')
    files = sorted(path.name for path in (program / "recording").rglob("*") if path.is_file())
    assert files == ["0001.yaml", "add_kernel.py", "recording.json"]


def test_a_recording_is_made_of_a_block_that_raises(program: Path) -> None:
    run(
        program,
        """
try:
    with cerith_triton.record("recording"):
        right()
        raise KeyError("of the program")
except KeyError as error:
    assert error.args == ("of the program",)
""",
    )
    assert json.loads((program / "recording/recording.json").read_text())["cases"] == 1


def test_a_folder_with_something_in_it_is_refused_before_anything_runs(program: Path) -> None:
    said = run(
        program,
        """
try:
    with cerith_triton.record("."):
        print("ran")
except cerith_triton.CerithError as error:
    print(error)
""",
    )
    assert said == ". is there and is not empty; name a folder that is not there yet\n"


def test_a_gate_lets_through_what_is_right(program: Path) -> None:
    said = run(
        program,
        """
@cerith_triton.gate
def decorated(n):
    "Its words."
    return right(n)

assert decorated(3).tolist() == [2.0] * 3 and decorated.__doc__ == "Its words."
with cerith_triton.gate(strict=True) as gated:
    right(); right(); right(1)
print(gated.report.numbers(), gated.report.recording)
with cerith_triton.gate() as gated:
    pass
print(gated.report.numbers())
""",
    )
    assert said.splitlines() == [
        "3 launches, 2 distinct: 2 agree None",
        "0 launches, 0 distinct: 0 agree",
    ]


def test_a_gate_says_what_is_wrong_and_keeps_the_recording(program: Path) -> None:
    said = run(
        program,
        """
@cerith_triton.gate(keep="kept")
async def decorated():
    right(); wrong()

for _ in range(2):
    try:
        asyncio.run(decorated())
    except cerith_triton.Disagreement as error:
        print(error, error.report.failed, error.report.undefined, error.report.agree)
""",
    )
    assert said.count("recorded in kept: cerith run kept True 1 1") == 2
    assert "out-of-bounds: load of 4 bytes just past the end of storage `x_ptr`" in said
    assert re.search(r"at kept/unmasked_kernel/unmasked_kernel.py:\d+:\d+", said)
    assert "x = tl.load(x_ptr + offsets)  # the mask is forgotten" in said
    assert (program / "kept/recording.json").is_file()


def test_what_is_undefined_can_be_let_through(program: Path) -> None:
    said = run(
        program,
        "with cerith_triton.gate(undefined=True) as gated: wrong()\nprint(gated.report.numbers())",
    )
    assert said == "1 launch, 1 distinct: 0 agree, 1 undefined\n"


def test_an_exception_of_the_block_goes_on_with_a_note(program: Path) -> None:
    said = run(
        program,
        """
try:
    with cerith_triton.gate():
        wrong()
        assert False, "the program's own"
except AssertionError as error:
    print(type(error).__name__, error, getattr(error, "__notes__", ["out-of-bounds"])[0])
""",
    )
    assert said.startswith("AssertionError the program's own")
    assert "out-of-bounds" in said


def test_nothing_is_removed_that_is_no_recording(program: Path) -> None:
    (program / "mine").mkdir()
    (program / "mine/thesis.tex").write_text("dear")
    said = run(
        program,
        """
try:
    with cerith_triton.gate(keep="mine"):
        wrong()
except cerith_triton.CerithError as error:
    print(error)
""",
    )
    assert "mine exists and is not a recording" in said
    assert (program / "mine/thesis.tex").read_text() == "dear"


def test_an_engine_that_is_not_there_is_an_error(program: Path) -> None:
    said = run(
        program,
        """
try:
    with cerith_triton.gate(engines=["interpret@3.0.99"]):
        right()
except cerith_triton.CerithError as error:
    print(error)
""",
    )
    assert "interpret@3.0.99 cannot run" in said
