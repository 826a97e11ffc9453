"""What this process gives up once it runs: system calls that starting it needed and nothing needs any more.

The other side started it contained, and says with a program for seccomp what else is to go: leaving its
process group, by which it is ended with all that it started.
"""

from __future__ import annotations

import ctypes
import os
import sys

# From <linux/prctl.h> and <linux/seccomp.h>. Nothing that gains privileges is executed since the start.
_PR_SET_SECCOMP = 22
_PR_SET_CHILD_SUBREAPER = 36
_SECCOMP_MODE_FILTER = 2
_INSTRUCTION = 8


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def give_up() -> None:
    """Applies the program, if there is one, to this thread and all that it starts. Of processes whose parent
    is gone this one is the parent then, so that they are seen."""
    text = os.environ.pop("CONCH_AFTERWARDS", "")
    if not text:
        return
    program = bytes.fromhex(text)
    libc = ctypes.CDLL(None, use_errno=True)
    asked = _Program(len(program) // _INSTRUCTION, program)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(asked), 0, 0):
        sys.exit(f"contain system calls: {os.strerror(ctypes.get_errno())}")
