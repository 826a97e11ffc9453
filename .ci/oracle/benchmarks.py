"""The tasks of benchmarks that `cerith judge` can read.

`benchmarks.py [--jobs N] [--seconds N] [--list] FOLDER…` runs the task side on each Python file of the folders (KernelBench's
`KernelBench`, TritonBench's `data/TritonBench_T_v1`), each in a process of its own, and prints for each folder with tasks how many load,
how many have a trial at small sizes with a finite reference, how many kinds of data and other sizes they have, and the reasons of the
others. Nothing is judged. torch must be there, and Triton for the tasks that are kernels.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[2] / "harness/recording/python"
KINDS = ("given", "normal", "distinct", "integers", "ties", "large", "tiny", "cancelling", "zeros", "one-hot")
SIZES = 5
SEED = 7


@dataclass(frozen=True)
class Result:
    """The trials of a task."""

    path: Path
    reason: str
    """Why there is no trial; empty if there is one."""
    loads: bool = True
    kinds: int = 0
    """Kinds of data at the smallest sizes."""
    sizes: int = 0
    """Other sizes."""
    seconds: float = 0.0
    """To load, and to make the first trial; torch is imported before."""


def try_task(path: Path) -> dict[str, Any]:
    """The trials of a task, as fields of `Result`."""
    # A task's own text must not be read as an answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    sys.path.insert(0, str(PACKAGE))
    from cerith_triton import task

    try:
        import torch  # noqa: F401 (its time is not the task's)
    except ImportError:
        pass
    start = time.monotonic()
    try:
        found = task.load(path)
    except task.TaskError as error:
        return {"reason": str(error), "loads": False}
    finally:
        sys.stdout = answers
    with tempfile.TemporaryDirectory() as name:

        def make(kind: str, sizes: int) -> str:
            """The reason why there is no trial; empty if there is one."""
            answer = task.answer(found, {"kind": kind, "seed": SEED, "sizes": sizes}, Path(name))
            return "" if "trial" in answer else str(next(iter(answer.values())))

        reasons = {}
        seconds = 0.0
        for kind in KINDS:
            reasons[kind] = make(kind, 0)
            if not reasons[kind]:
                seconds = seconds or time.monotonic() - start
        usable = [kind for kind, reason in reasons.items() if not reason]
        if not usable:
            return {"reason": reasons["given"]}
        others = [sizes for sizes in range(1, SIZES) if not all(make(kind, sizes) for kind in usable[:3])]
    return {"reason": "", "kinds": len(usable), "sizes": len(others), "seconds": seconds}


def run(path: Path, seconds: float) -> Result:
    """The trials of a task, in a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, Path(__file__).resolve(), "--one", path.resolve()],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
                cwd=folder,
                env=environment,
            )
        except subprocess.TimeoutExpired:
            return Result(path, f"no trial in {seconds:.0f} s", loads=False)
    lines = done.stdout.strip().splitlines()
    try:
        return Result(path, **json.loads(lines[-1]))
    except (IndexError, ValueError, TypeError):
        message = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return Result(path, f"the process ended with {done.returncode}: {message[:200]}", loads=False)


def shorten(reason: str) -> str:
    """A reason without names and figures, so that equal ones are counted together."""
    text = re.sub(r"\S+\.py", "FILE", reason)
    text = re.sub(r"[\[(][\d, ]*[\])]", "[…]", text)
    return re.sub(r"\d+", "N", text)[:160]


def print_table(results: list[Result]) -> None:
    """Figures for each folder, and reasons."""
    folders: dict[str, list[Result]] = collections.defaultdict(list)
    for one in results:
        folders[one.path.parent.name].append(one)
    write = sys.stdout.write
    write(
        "| tasks | number | load | with a trial | kinds of data | other sizes | median s |\n|---|---|---|---|---|---|---|\n"
    )
    for name, found in folders.items():
        usable = [one for one in found if not one.reason]
        write(f"| {name} | {len(found)} | {sum(one.loads for one in found)} | {len(usable)} | ")
        count = max(len(usable), 1)
        write(f"{sum(one.kinds for one in usable) / count:.1f} of {len(KINDS)} | ")
        write(f"{sum(one.sizes for one in usable) / count:.1f} of {SIZES - 1} | ")
        times = sorted(one.seconds for one in usable)
        write(f"{times[len(times) // 2] if times else 0:.2f} |\n")
    for name, found in folders.items():
        reasons = collections.Counter(shorten(one.reason) for one in found if one.reason)
        write(f"\n{name}:\n")
        for reason, count in reasons.most_common():
            example = next(one.path.name for one in found if shorten(one.reason) == reason and one.reason)
            write(f"- {count}: {reason} (`{example}`)\n")


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=90, help="the limit of a task")
    parser.add_argument("--list", action="store_true", help="print a line for each task")
    parser.add_argument("folders", type=Path, nargs="*")
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(try_task(options.one)))
        return
    paths = [path for folder in options.folders for path in sorted(folder.rglob("*.py"))]
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for one in pool.map(lambda path: run(path, options.seconds), paths):
            results.append(one)
            if options.list:
                trials = one.reason or f"{one.kinds} kinds, {one.sizes} other sizes, {one.seconds:.2f} s"
                print(f"{one.path.parent.name}/{one.path.name}: {trials}", flush=True)
    print_table(results)


if __name__ == "__main__":
    main()
