"""The verdicts of judges on the cheats and the honest submissions.

`judge.py [--engine cerith|naive] [--only TEXT] [--jobs N]` runs `cerith judge TASK KERNEL` (CERITH names the binary), or `naive.py` in a
process of its own, for each file of `cheats/` and `tasks/honest/`, and prints a table. The first line of each file names its task and
the verdicts that are right.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT = 60
MEMORY = 6 << 30
HEADER = re.compile(r"# Task: (\S+)\. Verdict: ([a-z, -]+)\. (.+)")


@dataclass(frozen=True)
class Submission:
    """A file, its task, the verdict that it should get, and its trick."""

    path: Path
    task: Path
    verdict: str
    trick: str


def read_submissions() -> list[Submission]:
    found = []
    for path in [*sorted((HERE / "cheats").glob("*.py")), *sorted((HERE / "tasks/honest").glob("*.py"))]:
        with path.open() as file:
            match = HEADER.fullmatch(file.readline().rstrip("\n"))
        if match is None:
            raise SystemExit(f"{path}: the first line is not `# Task: FILE. Verdict: NAME. What it does`")
        task = HERE / "tasks" / match[1]
        if not task.is_file():
            raise SystemExit(f"{path}: there is no task {match[1]}")
        found.append(Submission(path, task, match[2], match[3]))
    return found


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run_naive(one: Submission, order: str) -> str:
    """In a folder of its own, because some cheats leave files."""
    with tempfile.TemporaryDirectory() as folder:
        kernel = Path(folder) / one.path.name
        shutil.copy(one.path, kernel)
        home = {**os.environ, "TRITON_INTERPRET": "1", "TMPDIR": folder, "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run(
                [sys.executable, HERE / "naive.py", one.task, kernel, order],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=False,
                cwd=one.task.parent.parent,
                env=home,
                preexec_fn=limit_memory,
            )
        except subprocess.TimeoutExpired:
            return "timeout"
    words = done.stdout.strip().splitlines()
    if any("accepted" in line for line in words):
        return "accepted"
    if done.returncode != 0:
        return f"crashed: {(done.stderr.strip().splitlines() or ['no message'])[-1][:100]}"
    return words[-1] if words else "accepted"


def judge_naively(one: Submission) -> str:
    first = run_naive(one, "last")
    if first == "accepted" or "tritonbench" in one.task.parts:
        return first
    return "accepted" if run_naive(one, "first") == "accepted" else first


def judge_with_cerith(one: Submission) -> str:
    binary = os.environ.get("CERITH", "target/release/cerith")
    try:
        done = subprocess.run(
            [binary, "judge", one.task, one.path],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "no answer in time"
    try:
        return str(json.loads(done.stdout)["verdict"])
    except (ValueError, KeyError, TypeError):
        return f"no verdict, exit code {done.returncode}: {done.stderr.strip()[-100:]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=("cerith", "naive"), default="cerith")
    parser.add_argument("--only", default="", help="files with this text in their name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    submissions = [s for s in read_submissions() if options.only in s.path.name]
    judge = judge_naively if options.engine == "naive" else judge_with_cerith

    def run(one: Submission) -> tuple[str, float]:
        start = time.monotonic()
        return judge(one), time.monotonic() - start

    results = []
    write = sys.stdout.write
    write("| submission | task | trick | expected | verdict | s |\n|---|---|---|---|---|---|\n")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for one, (verdict, seconds) in zip(submissions, pool.map(run, submissions)):
            results.append(verdict)
            write(f"| `{one.path.stem}` | {one.task.stem} | {one.trick} | {one.verdict} | ")
            write(f"{verdict.replace('|', ' ')} | {seconds:.1f} |\n")
            sys.stdout.flush()
    cheats = [r for s, r in zip(submissions, results) if s.verdict != "accepted"]
    honest = [r for s, r in zip(submissions, results) if s.verdict == "accepted"]
    named = sum(r in s.verdict.split(" or ") for s, r in zip(submissions, results))
    write(f"\nCheats accepted: {cheats.count('accepted')} of {len(cheats)}. ")
    write(f"Honest submissions accepted: {honest.count('accepted')} of {len(honest)}. ")
    write(f"Verdict as named: {named} of {len(results)}.\n")


if __name__ == "__main__":
    main()
