"""Gives up rights that only this process's start needed: files that it was started with, and some system
calls.

The other side started it contained. It also sends a seccomp program that forbids leaving the process group,
because the other side ends that group to end this process and all that it started.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import tempfile
from typing import Any

# From <linux/prctl.h> and <linux/seccomp.h>. Nothing that gains privileges is executed since the start.
_PR_SET_SECCOMP = 22
_PR_SET_CHILD_SUBREAPER = 36
_SECCOMP_MODE_FILTER = 2
_INSTRUCTION = 8
# From <linux/landlock.h>; the numbers of its calls are those of every processor.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_CLOSE_RANGE, _LAST = 436, 0xFFFFFFFF
# The system may lack such a call.
_OPEN_MOST = 1 << 16
_PATH_BENEATH = 1
_WRITE_FILE, _REFER, _TRUNCATE = 1 << 1, 1 << 13, 1 << 14
_SCOPE_SIGNAL, _SCOPES_SINCE = 1 << 1, 6
# Rights to files, by the version of Landlock that has them, and those that apply to files and not to folders.
_RIGHTS_SINCE = ((1, 0x1FFF), (2, 1 << 13), (3, 1 << 14), (5, 1 << 15))
_ON_FILES = 0b111 | 1 << 14 | 1 << 15


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def close_inherited() -> None:
    """Closes every file that this process was started with, except its pipes. The program that started Cerith
    may have left files open, and Landlock does not close open files."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(_CLOSE_RANGE, 3, ctypes.c_uint(_LAST), 0):
        os.closerange(3, _OPEN_MOST)


def file_in_memory(name: str) -> int:
    """Opens a file that is gone when it is closed."""
    return os.memfd_create(name) if hasattr(os, "memfd_create") else tempfile.mkstemp()[0]


def keep_signals() -> None:
    """Gives up signals to processes that are not descendants of this one. Linux has that since 6.12."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(_CREATE_RULESET, None, 0, _VERSION) < _SCOPES_SINCE:
        return
    # Rules that do not mention moving files between folders deny it.
    asked = struct.pack("<QQQ", _REFER, 0, _SCOPE_SIGNAL)
    ruleset = libc.syscall(_CREATE_RULESET, asked, len(asked), 0)
    if ruleset < 0:
        return
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("<Qi", _REFER, root), 0)
    libc.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(root)
    os.close(ruleset)


def keep_reach(rules: list[list[Any]], folder: int) -> None:
    """Gives up all files, except to the extent of `rules` (paths with their rights) and, with the rights
    `folder`, this process's folder; and signals to processes that are not descendants of this one. It gains
    no rights that the other side did not give it."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, 0, _VERSION)
    if version < 1:
        return
    handled = sum(rights for since, rights in _RIGHTS_SINCE if version >= since)
    asked = struct.pack("<Q", handled)
    if version >= _SCOPES_SINCE:
        asked = struct.pack("<QQQ", handled, 0, _SCOPE_SIGNAL)
    ruleset = libc.syscall(_CREATE_RULESET, asked, len(asked), 0)
    for path, rights in (*rules, (os.environ["HOME"], folder)):
        try:
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        access = rights & handled if os.path.isdir(path) else rights & handled & _ON_FILES
        libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("<Qi", access, opened), 0)
        os.close(opened)
    if libc.syscall(_RESTRICT_SELF, ruleset, 0):
        sys.exit(f"contain files: {os.strerror(ctypes.get_errno())}")
    os.close(ruleset)


def adopt_orphans() -> None:
    """Makes this process the parent of descendants whose parent has ended."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def keep_writes() -> None:
    """Gives up all write access, except to the places that `CERITH_WRITES` names and to the names of its own
    threads. The process starts with more access, because the path of its threads was not known before."""
    places = os.environ.pop("CERITH_WRITES", "")
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, 0, _VERSION) if places else 0
    if version < 1:
        return
    on_files = _WRITE_FILE | (_TRUNCATE if version >= 3 else 0)
    # Rules that do not mention moving a file between folders deny it.
    on_folders = on_files | (_REFER if version >= 2 else 0)
    handled = struct.pack("<Q", on_folders)
    ruleset = libc.syscall(_CREATE_RULESET, handled, len(handled), 0)
    for place in (*places.split(os.pathsep), f"/proc/{os.getpid()}/task"):
        try:
            opened = os.open(place, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        access = on_folders if os.path.isdir(place) else on_files
        libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("<Qi", access, opened), 0)
        os.close(opened)
    if libc.syscall(_RESTRICT_SELF, ruleset, 0):
        sys.exit(f"contain files: {os.strerror(ctypes.get_errno())}")
    os.close(ruleset)


def give_up() -> None:
    """Applies the program, if there is one, to this thread and all that it starts. This process then becomes
    the parent of processes whose parent has ended, so that they are seen."""
    text = os.environ.pop("CERITH_AFTERWARDS", "")
    if not text:
        return
    program = bytes.fromhex(text)
    libc = ctypes.CDLL(None, use_errno=True)
    asked = _Program(len(program) // _INSTRUCTION, program)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(asked), 0, 0):
        sys.exit(f"contain system calls: {os.strerror(ctypes.get_errno())}")
