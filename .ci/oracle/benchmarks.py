"""The tasks of benchmarks that `cerith judge` can read.

`benchmarks.py [--jobs N] [--seconds N] [--list] FOLDER…` runs the task side on each Python file of the folders (KernelBench's
`KernelBench`, TritonBench's `data/TritonBench_T_v1`), each in a process of its own, and prints for each folder with tasks how many load,
how many have a trial at small sizes with a finite reference, how many kinds of data and other sizes they have, and the reasons of the
others. Nothing is judged. torch must be there, and Triton for the tasks that are kernels.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import importlib
import multiprocessing
import multiprocessing.connection
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[2] / "harness/recording/python"
KINDS = ("given", "normal", "distinct", "integers", "ties", "large", "tiny", "cancelling", "zeros", "one-hot")
SIZES = 5
SEED = 7


@dataclass(frozen=True)
class Result:
    """The trials of a task."""

    reason: str
    """Why there is no trial; empty if there is one."""
    loads: bool = True
    kinds: int = 0
    """Kinds of data at the smallest sizes."""
    sizes: int = 0
    """Other sizes."""
    seconds: float = 0.0
    """To load, and to make the first trial; torch is imported before."""


def try_task(path: Path) -> Result:
    """The trials of a task."""
    task = importlib.import_module("cerith_triton.task")
    start = time.monotonic()
    try:
        found = task.load(path)
    except task.TaskError as error:
        return Result(str(error), loads=False)
    with tempfile.TemporaryDirectory() as name:

        def make(kind: str, sizes: int) -> str:
            """The reason why there is no trial; empty if there is one."""
            answer = task.answer(found, {"kind": kind, "seed": SEED, "sizes": sizes}, Path(name))
            if "failed" in answer:
                raise task.TaskError(answer["failed"])
            return "" if "trial" in answer else str(next(iter(answer.values())))

        reasons = {}
        seconds = 0.0
        for kind in KINDS:
            try:
                reasons[kind] = make(kind, 0)
            except task.TaskError as error:
                return Result(str(error))
            if not reasons[kind]:
                seconds = seconds or time.monotonic() - start
        usable = [kind for kind, reason in reasons.items() if not reason]
        if not usable:
            return Result(reasons["given"])
        others = [sizes for sizes in range(1, SIZES) if not all(make(kind, sizes) for kind in usable[:3])]
    return Result("", True, len(usable), len(others), seconds)


def answer_apart(path: Path, answers: Connection) -> None:
    """Sends the result of a task, in a process of its own. Its text is lost."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        silence = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(silence, descriptor)
        answers.send(try_task(path))


def run_all(paths: list[Path], jobs: int, seconds: float) -> Iterator[tuple[Path, Result]]:
    """The results of tasks, each with a process that is forked after torch was imported."""
    fork = multiprocessing.get_context("fork")
    pending = list(reversed(paths))
    running: dict[Any, tuple[Path, Any, float]] = {}
    while pending or running:
        while pending and len(running) < jobs:
            path = pending.pop()
            receiver, sender = fork.Pipe(duplex=False)
            process = fork.Process(target=answer_apart, args=(path.resolve(), sender))
            process.start()
            sender.close()
            running[receiver] = (path, process, time.monotonic() + seconds)
        ready = set(multiprocessing.connection.wait(list(running), timeout=0.5))
        for receiver, (path, process, end) in list(running.items()):
            if receiver in ready:
                try:
                    result = receiver.recv()
                except EOFError:
                    process.join()
                    result = Result(f"the process ended with {process.exitcode}", loads=False)
            elif time.monotonic() > end:
                process.kill()
                result = Result(f"no trial in {seconds:.0f} s", loads=False)
            else:
                continue
            process.join()
            receiver.close()
            del running[receiver]
            yield path, result


def shorten(reason: str) -> str:
    """A reason without names and figures, so that equal ones are counted together."""
    text = re.sub(r"\S+\.py", "FILE", reason)
    text = re.sub(r"[\[(][\d, ]*[\])]", "[…]", text)
    return re.sub(r"\d+", "N", text)[:160]


def print_table(results: list[tuple[Path, Result]]) -> None:
    """Figures for each folder, and reasons."""
    folders: dict[str, list[Result]] = collections.defaultdict(list)
    examples: dict[tuple[str, str], str] = {}
    for path, one in sorted(results):
        folders[path.parent.name].append(one)
        examples.setdefault((path.parent.name, shorten(one.reason)), path.name)
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
            write(f"- {count}: {reason} (`{examples[name, reason]}`)\n")


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=90, help="the limit of a task")
    parser.add_argument("--list", action="store_true", help="print a line for each task")
    parser.add_argument("folders", type=Path, nargs="*")
    options = parser.parse_args()
    paths = [path for folder in options.folders for path in sorted(folder.rglob("*.py"))]
    sys.path.insert(0, str(PACKAGE))
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    # Kernels may be imported after the package, and a process that is forked has no other threads.
    importlib.import_module("cerith_triton.task")
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    with contextlib.suppress(ImportError):
        importlib.import_module("triton.language")
    results = []
    for path, one in run_all(paths, options.jobs, options.seconds):
        results.append((path, one))
        if options.list:
            trials = one.reason or f"{one.kinds} kinds, {one.sizes} other sizes, {one.seconds:.2f} s"
            print(f"{path.parent.name}/{path.name}: {trials}", flush=True)
    print_table(results)


if __name__ == "__main__":
    main()
