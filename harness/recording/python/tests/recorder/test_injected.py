"""A process that is recorded because of its environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from recorded import HERE, Recorded, interpreted

_SCRIPT = f"""
import sys

sys.path.insert(0, {str(HERE)!r})
from recorded import Memory
import numpy as np
import simple

x = Memory().tensor(np.ones(16, np.float32))
for _ in range(3):
    simple.fill[(1,)](x, 2.0, BLOCK=16)
print("done")
"""


def run(script: str, folder: Path, **variables: str) -> str:
    path = os.pathsep.join(
        [str(HERE.parents[1] / "inject"), str(HERE.parents[1]), str(folder), *sys.path[1:]]
    )
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stderr == ""
    return ended.stdout


@interpreted
def test_its_launches_are_recorded(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    (tmp_path / "sitecustomize.py").write_text("print('hidden')")
    assert run(_SCRIPT, tmp_path, CERITH_RECORD=str(parts)) == "hidden\ndone\n"
    found = Recorded(parts)
    (launch,) = found.launches
    assert launch["args"][1] == ["value", ["f", 2 << 61]]
    assert [end["repeated"] for end in found.frames_of("end")] == [2]


@interpreted
def test_options_come_with_the_environment(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    options = '{"filter": [], "max_bytes": 8, "sample": "every", "data": true, "max_size": 1000000}'
    run(_SCRIPT, tmp_path, CERITH_RECORD=str(parts), CERITH_RECORD_OPTIONS=options)
    found = Recorded(parts)
    assert [launch["storages"][0]["why"] for launch in found.launches] == ["max-bytes"] * 3


def test_one_without_launches_says_how_far_it_came(tmp_path: Path) -> None:
    for program, imported in (("print('done')", False), ("import triton; print('done')", True)):
        parts = tmp_path / str(imported)
        parts.mkdir()
        assert run(program, tmp_path, CERITH_RECORD=str(parts)) == "done\n"
        pythons = [frame["triton"] for frame in Recorded(parts).frames_of("python")]
        assert pythons[0] is None
        assert len(pythons) == 1 + imported
        assert not Recorded(parts).frames_of("process")
