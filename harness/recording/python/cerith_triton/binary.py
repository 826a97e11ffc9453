"""Finding and running the `cerith` binary. Left out: what its answers mean (`judging`)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Iterator, Sequence

VARIABLE = "CERITH"
"""The environment variable that names the binary to use, before all others."""


class CerithError(RuntimeError):
    """Cerith could not perform a request: it is missing, or failed. Never a verdict about a kernel."""


def find() -> str:
    """The binary: what `CERITH` names, the one that this package was installed with, or the one on PATH.

    Raises `CerithError` if there is none.
    """
    named = os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise CerithError(f"{VARIABLE} is {named!r}, which is not an executable program")
        return found
    for folder in _scripts():
        candidate = folder / f"cerith{sysconfig.get_config_var('EXE') or ''}"
        if os.access(candidate, os.X_OK) and candidate.is_file():
            return str(candidate)
    found = shutil.which("cerith")
    if found is None:
        raise CerithError(
            "the program `cerith` is not there: it comes with the wheel of cerith-triton; of a checkout, "
            f"build it with `cargo build --release` and set {VARIABLE} to target/release/cerith"
        )
    return found


def _scripts() -> Iterator[Path]:
    """Where an installer puts the scripts of a package: of this Python, of this user, beside `pip install
    --target`."""
    yield Path(sysconfig.get_path("scripts"))
    if hasattr(sysconfig, "get_preferred_scheme"):
        scheme = sysconfig.get_preferred_scheme("user")
    else:
        scheme = "nt_user" if os.name == "nt" else "posix_user"
    yield Path(sysconfig.get_path("scripts", scheme))
    yield Path(__file__).resolve().parent.parent / "bin"


def run(arguments: Sequence[str], codes: Sequence[int], quiet: bool = False) -> str:
    """Returns the binary's output; its messages go to stderr, unless `quiet`.

    Raises `CerithError` with its messages for an exit code that is not among `codes`."""
    binary = find()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CERITH_RECORD")}
    try:
        done = subprocess.run(
            [binary, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise CerithError(f"failed to start {binary}: {error}") from error
    if done.returncode not in codes:
        said = (done.stderr.strip() or done.stdout.strip())[-4000:]
        raise CerithError(f"`{binary} {' '.join(arguments)}` ended with {done.returncode}: {said}")
    if done.stderr and not quiet:
        sys.stderr.write(done.stderr)
    return done.stdout
