"""Reports the files on which a compilation depends, so that its result is only taken from a cache while they
are as they were.

The process that runs user code writes each name into a pipe before it opens, lists or looks for the file. A
process that runs no user code reads the pipe. User code can tamper with the hooks, but it can't take back a
name that was written before its first line ran, and its own file was named then.

Tracked are files that Python opens, folders that it lists, paths that it looks for (`os.stat` and its like),
and modules that it searches for. Everything else that reads files ends the tracking, and so the caching:
native code from outside of the toolchain, `ctypes`, other programs, sockets. Not tracked are clocks, random
numbers, and times of change.
"""

from __future__ import annotations

import json
import os
import posix
import struct
import sys
import time
from contextlib import suppress
from importlib import _bootstrap_external, machinery
from typing import Any, Callable

from . import beside

# Kinds of names: a path that is opened or looked for, a folder that is listed, a link that is read, a module
# that is searched for in a folder, a reason why nothing is tracked any more, the end of a request.
_SEEN, _LISTED, _LINK, _MODULE, _LOST, _END = "s", "d", "l", "m", "!", "e"
_PATHS = {"open": _SEEN, "os.listdir": _LISTED, "os.scandir": _LISTED}
_PROGRAMS = ("subprocess.Popen", "os.posix_spawn", "os.exec")
_ESCAPES = ("ctypes.dlopen", "ctypes.dlsym", "ctypes.dlsym/handle", "os.system", "os.spawn", "socket.connect")
# Functions of `posix` with a parameter of such a name find out whether a path is there.
_PATH_PARAMETERS = ("path", "src", "dst")
# These have events of their own, or take numbers.
_NO_LOOKS = (
    *("listdir", "scandir", "execv", "execve", "fspath"),
    *("copy_file_range", "splice", "link", "symlink"),
)
# Names that one process may have, and bytes of them.
_MAX_NAMES, _MAX_BYTES = 4096, 1 << 20
_LENGTH = struct.Struct("<I")
_FINDERS = ("<frozen importlib._bootstrap_external>", beside.__file__)
_OPEN = posix.open


def ignore_bytecode(*trusted: str) -> None:
    """Makes Python compile each source file outside of these folders, whatever lies in `__pycache__` beside
    it: the file that is read is then the code that runs."""
    roots = tuple(os.path.join(root, "") for root in trusted)
    real = _bootstrap_external.cache_from_source

    def cache_from_source(path: Any, *args: Any, **named: Any) -> Any:
        if not os.fspath(path).startswith(roots):
            raise NotImplementedError
        return real(path, *args, **named)

    _bootstrap_external.cache_from_source = cache_from_source


class Reporter:
    """Writes names into a pipe, in the process that runs user code."""

    def __init__(self, pipe: int, known: tuple[str, ...], libraries: tuple[str, ...]) -> None:
        """Files in the folders `known` are not reported. Native code may come from `libraries`."""
        self._pipe = pipe
        self._known = tuple(os.path.join(folder, "") for folder in known)
        self._libraries = tuple(os.path.join(folder, "") for folder in libraries)
        self._reported: set[tuple[str, str]] = set()
        self._readlink = posix.readlink

    def install(self) -> None:
        """Reports from now on, in this process and in those that it forks."""
        sys.addaudithook(self._audit)
        for name, places in _find_looks().items():
            self._watch(name, places)
        find = machinery.FileFinder.find_spec

        def find_spec(finder: Any, fullname: str, target: Any = None) -> Any:
            self._path(_MODULE, os.path.join(finder.path, fullname.rpartition(".")[2]))
            return find(finder, fullname, target)

        machinery.FileFinder.find_spec = find_spec  # type: ignore[assignment, method-assign]

    def end(self) -> None:
        """Reports that a request is done."""
        self._write(_END, "")

    def _watch(self, name: str, places: dict[str, int]) -> None:
        """Reports the paths that a function of `os` gets, as parameters with these names at these places.
        Python has no event for most of them, and that for opened files lacks `dir_fd`."""
        real: Callable[..., Any] = getattr(posix, name)

        def watched(*args: Any, **named: Any) -> Any:
            for parameter, place in places.items():
                path = args[place] if place < len(args) else named.get(parameter)
                folder = named.get("dir_fd" if parameter == "path" else f"{parameter}_dir_fd")
                if path is None or (folder is None and real is _OPEN):
                    continue
                self._path(_SEEN, path, folder)
                if name == "readlink":
                    self._path(_LINK, path, folder)
            return real(*args, **named)

        watched.__name__ = watched.__qualname__ = name
        for group in (
            os.supports_dir_fd,
            os.supports_fd,
            os.supports_follow_symlinks,
            os.supports_effective_ids,
        ):
            if real in group:
                group.add(watched)
        for owner in (posix, os):
            setattr(owner, name, watched)

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        kind = _PATHS.get(event)
        if kind is not None:
            # The files of a module's folder are reported by the name of the module.
            if kind != _LISTED or sys._getframe(1).f_code.co_filename not in _FINDERS:
                self._path(kind, args[0])
        elif event == "import":
            if args[1]:
                self._path(_SEEN, args[1])
                if not os.fspath(args[1]).startswith(self._libraries):
                    self._write(_LOST, f"the module {args[0]} is native code")
        elif event in _PROGRAMS:
            self._program(args[0], args[1])
        elif event in _ESCAPES:
            self._write(_LOST, event)
        elif event in ("os.symlink", "os.link"):
            self._path(_SEEN, os.path.join(os.path.dirname(os.fsdecode(args[1])), os.fsdecode(args[0])))

    def _program(self, program: Any, args: Any) -> None:
        """Only the toolchain's own programs read no more than what they are given. Some versions of Triton
        start them with a shell."""
        path = os.fsdecode(program) if program else str(args[0])
        words = [args] if isinstance(args, (str, bytes)) else list(args)
        if path == "/bin/sh" and len(words) == 3:
            path = os.fsdecode(words[2]).split(" ", 1)[0]
        if not path.startswith(self._libraries):
            self._write(_LOST, f"the program {path}")

    def _path(self, kind: str, path: Any, folder: int | None = None) -> None:
        if path is None:
            path = "."
        if isinstance(path, int):
            if kind != _LISTED:
                return
            path = self._opened(path)
        path = os.fsdecode(path)
        if folder is not None and folder >= 0:
            path = os.path.join(self._opened(folder), path)
        if "\0" in path:
            return
        path = os.path.abspath(path)
        if not os.path.join(path, "").startswith(self._known):
            self._write(kind, path)

    def _opened(self, number: int) -> str:
        try:
            return self._readlink(f"/proc/self/fd/{number}")
        except OSError:
            self._write(_LOST, "a folder that is known by a number")
            return "/"

    def _write(self, kind: str, text: str) -> None:
        if kind != _END:
            if (kind, text) in self._reported:
                return
            self._reported.add((kind, text))
        # If it fails, the other side misses the end of the request, and takes nothing as tracked.
        with suppress(OSError):
            os.write(self._pipe, os.fsencode(f"{kind}{text}\0"))


class Names:
    """The names that one process reported, in the process that runs no user code."""

    def __init__(self) -> None:
        self.since = time.time_ns()
        self._files: dict[str, None] = {}
        self._rest = b""
        self._bytes = 0
        self._lost: str | None = None
        self._ended = False

    def add(self, data: bytes) -> None:
        """Reads names from the pipe."""
        *names, self._rest = (self._rest + data).split(b"\0")
        for name in names:
            text = os.fsdecode(name)
            if text == _END:
                self._ended = True
            elif text[:1] == _LOST:
                self.lose(text[1:])
            elif not _is_utf8(text):
                self.lose("a file name that is not UTF-8")
            elif text not in self._files:
                self._bytes += len(text)
                if len(self._files) >= _MAX_NAMES or self._bytes > _MAX_BYTES:
                    self.lose(f"more than {_MAX_NAMES} files")
                else:
                    self._files[text] = None
        if len(self._rest) > _MAX_BYTES:
            self._rest = b""
            self.lose("a name without an end")

    def lose(self, reason: str) -> None:
        """Gives up tracking."""
        self._lost = self._lost or reason

    def trailer(self) -> bytes:
        """The trailer of an answer: the names so far as JSON, and its length."""
        ended, self._ended = self._ended, False
        lost = self._lost or (None if ended else "the reports were cut off")
        files = [] if lost else [[name[:1], name[1:]] for name in self._files]
        text = json.dumps({"since": self.since, "untracked": lost, "files": files}).encode("utf-8", "replace")
        return text + _LENGTH.pack(len(text))


def _find_looks() -> dict[str, dict[str, int]]:
    """The functions of `posix` that take paths: the names and places of these parameters."""
    looks = {}
    for name, function in vars(posix).items():
        # As `inspect` reads it, which is too slow to import.
        signature = getattr(function, "__text_signature__", None) or ""
        words = [word.strip().partition("=")[0] for word in signature.strip("()").split(",")]
        parameters = [word for word in words if word.isidentifier()]
        places = {word: place for place, word in enumerate(parameters) if word in _PATH_PARAMETERS}
        if places and name not in _NO_LOOKS and not name.startswith("_"):
            looks[name] = places
    return looks


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
