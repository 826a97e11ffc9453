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


class Writes(unittest.TestCase):
    def test_only_the_places_that_are_told_are_written(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        if sys.platform != "linux" or libc.syscall(444, None, 0, 1) < 3 or os.geteuid() != 0:
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
