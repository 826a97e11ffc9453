"""Launches that are judged before they run, by a `cerith` that is kept running. Left out: how it judges.

It reads the same part file, up to the launch that comes next, and answers with a line of JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys


class UndefinedLaunch(RuntimeError):  # noqa: N818 (what it is, as Triton's own errors are named)
    """A launch that has no defined meaning, raised in its place. Its text is Cerith's diagnostic."""


class Preflight:
    """A `cerith` that judges launches. If it fails, launches run without it, and stderr says so once."""

    def __init__(self, binary: str) -> None:
        self._binary = binary
        self._process: subprocess.Popen[bytes] | None = None
        self._pid = 0
        self._failed = False
        self.judged = 0
        """How many launches were judged."""

    def judge(self, part: str) -> str | None:
        """The undefined behaviour of the launch that was written last into a part file; None if none is
        known."""
        if self._failed:
            return None
        try:
            answer = self._ask(part)
        except (OSError, TypeError, ValueError) as error:
            self._failed = True
            print(f"cerith: launches are no longer judged before they run: {error}", file=sys.stderr)
            return None
        self.judged += answer.get("judged") is True
        words = answer.get("undefined")
        return words if isinstance(words, str) else None

    def _ask(self, part: str) -> dict[str, object]:
        # A process that was forked has a part file, and a judge, of its own.
        if self._process is None or self._pid != os.getpid():
            environment = {
                name: value for name, value in os.environ.items() if not name.startswith("CERITH_RECORD")
            }
            self._process = subprocess.Popen(
                [self._binary, "preflight", part],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                # Ctrl-C is for the program.
                start_new_session=True,
            )
            self._pid = os.getpid()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise ValueError("`cerith preflight` has ended")
        return dict(json.loads(line))

    def close(self) -> None:
        """Ends it."""
        if self._process is not None and self._pid == os.getpid() and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()
        self._process = None
