"""A process gives up rights once it runs. Needs no torch and no Triton."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
import unittest

# Which of the files it may open for writing, and whether it may read its own threads' names.
ATTEMPT = """
import os, sys
from cerith_worker import contained
for path in sys.argv[1:]:
    path = path.replace("OWN", str(__import__("threading").get_native_id()))
    try:
        open(path, "r+b").close()
        print("yes")
    except PermissionError:
        print("no")
    if path == sys.argv[1]:
        # Triton moves what it compiled from one folder to another.
        folder = os.path.join(os.path.dirname(path), "folder")
        os.mkdir(folder)
        os.replace(path, os.path.join(folder, "moved"))
"""

# Which of the files it may read, after it keeps the first one only, and whether it may write in its folder.
READ = """
import os, sys
from cerith_worker import contained
rules = [[os.path.dirname(os.__file__), 0b1100], [os.path.dirname(contained.__file__), 0b1100]]
contained.keep_reach([*rules, [sys.argv[1], 0b100]], 0b1110 | 1 << 8)
for path in sys.argv[1:]:
    try:
        open(path).close()
        print("yes")
    except PermissionError:
        print("no")
open("made", "w").close()
os.kill(os.getpid(), 0)
try:
    os.kill(os.getppid(), 0)
except PermissionError:
    print("no signal")
"""


def find_landlock() -> int:
    """The version of Landlock, or 0."""
    if sys.platform != "linux":
        return 0
    return max(0, int(ctypes.CDLL(None, use_errno=True).syscall(444, None, 0, 1)))


class Reach(unittest.TestCase):
    def test_only_the_files_of_a_program_are_read(self) -> None:
        if find_landlock() < 6:
            self.skipTest("needs Landlock with scopes")
        with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as other:
            files = [os.path.join(other, name) for name in ("own", "others")]
            for file in files:
                with open(file, "wb"):
                    pass
            done = subprocess.run(
                [sys.executable, "-c", READ, *files],
                env={
                    **os.environ,
                    "HOME": home,
                    "PYTHONPATH": os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                },
                cwd=home,
                stdout=subprocess.PIPE,
                check=True,
                text=True,
            )
            self.assertEqual(os.listdir(home), ["made"])
        self.assertEqual(done.stdout.split("\n"), ["yes", "no", "no signal", ""])


class Writes(unittest.TestCase):
    def test_only_the_places_that_are_told_are_written(self) -> None:
        if find_landlock() < 3 or os.geteuid() != 0:
            self.skipTest("needs Landlock, and to be root")
        with tempfile.TemporaryDirectory() as kept, tempfile.TemporaryDirectory() as other:
            for folder in (kept, other):
                with open(os.path.join(folder, "file"), "wb"):
                    pass
            files = [
                os.path.join(kept, "file"),
                os.path.join(other, "file"),
                "/proc/self/task/OWN/comm",
                f"/proc/{os.getpid()}/comm",
                "/proc/sys/kernel/core_pattern",
            ]
            done = subprocess.run(
                [sys.executable, "-c", ATTEMPT, *files],
                env={**os.environ, "CERITH_WRITES": kept},
                stdout=subprocess.PIPE,
                check=True,
                text=True,
            )
        self.assertEqual(done.stdout.split(), ["yes", "no", "yes", "no", "no"])


if __name__ == "__main__":
    unittest.main()
