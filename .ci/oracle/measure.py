"""Does the oracle accept correct kernels, and refuse wrong formulas?

`measure.py NAME [--jobs N] [--correct] [--planted] [--all] [--only TEXT] [--engine oracle|interpret]` writes a row for each kernel of
`kernels/` and each edit of `plant.py` to target/oracle/NAME.jsonl, and prints the tables for `reports/oracle.md`. CERITH names the
binary. Rows that NAME.jsonl already has are kept, so that a run that was stopped goes on.

The engine `interpret` runs Triton's interpreter in place of `cerith_triton.check`, and compares with the correct kernel: `same` is
equal in each bit, `close` is nearer than 1e-5, `differs` is farther, `rejected` raised an error. It finds edits that change no result.
"""

from __future__ import annotations

import argparse
import collections
import functools
import json
import math
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from plant import HERE, Edit, apply_edit, list_plants

ROOT = HERE.parent.parent
OUT = Path(os.environ.get("CERITH_ORACLE", "target/oracle"))
LIMIT = 120  # seconds of one row
SEEDS = (1, 2)
Row = dict[str, Any]
# Well-known kernels, whose accuracy the report shows.
KNOWN = (HERE / "known.txt").read_text().split()
# Verdicts of `check` that refuse a kernel. The others accept it, or say that nothing was judged.
REFUSED = ("wrong", "inaccurate", "unwritten", "undefined", "rejected")


class TimeOutError(Exception):
    """A row took longer than `LIMIT`."""


def stop(_signal: int, _frame: object) -> None:
    raise TimeOutError


def run_row(row: Row, engine: str) -> Row:
    """The row with its results: `trials`, `result` and `seconds`."""
    start = time.monotonic()
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / row["file"]
            data = (HERE / "kernels" / row["file"]).read_bytes()
            if "start" in row:
                data = apply_edit(data, Edit(row["start"], row["end"], row["text"]))
            path.write_bytes(data)
            trials = check_file(path, row) if engine == "oracle" else interpret_file(path, row)
    except TimeOutError:
        trials = [{"verdict": "timeout", "text": f"more than {LIMIT} s"}]
    except Exception:  # noqa: BLE001 (of a kernel under test)
        trials = [{"verdict": "error", "text": traceback.format_exc(limit=-4)[-2000:]}]
    finally:
        signal.alarm(0)
    return {**row, "trials": trials, "result": judge(trials), "seconds": round(time.monotonic() - start, 2)}


def judge(trials: list[Row]) -> str:
    """The first refusal, otherwise the first trial that is not judged, otherwise the verdict."""
    verdicts = [str(t["verdict"]) for t in trials]
    for group in (REFUSED, ("differs",), ("close",)):
        for verdict in verdicts:
            if verdict in group:
                return str(verdict)
    silent = [v for v in verdicts if v not in ("agree", "same")]
    return str([*silent, *verdicts, "not run"][0])


def module_name(row: Row) -> str:
    return "oracle_" + re.sub(r"\W", "_", str(row["id"]))


def check_file(path: Path, row: Row) -> list[Row]:
    sys.path.insert(0, str(ROOT / "harness/recording/python"))
    import cerith_triton  # type: ignore[import-not-found]
    from case import Make, load_cases

    trials = []
    for case in load_cases(path, module_name(row)):
        if case.name not in row["cases"]:
            continue
        for nth, args in enumerate(case.args(Make(SEEDS[0]))):
            report = cerith_triton.check(
                case.launcher,
                like=case.reference,
                args=args,
                kwargs=case.kwargs,
                data=case.data if isinstance(case.data, str) else list(case.data),
                seed=SEEDS[0],
                accumulate=case.accumulate,
                raises=False,
            )
            trial = {"case": case.name, "set": nth, "verdict": report.verdict, "text": report.text}
            trials.append({**trial, "accuracy": measure_accuracy(report)})
            if "start" in row and report.verdict in REFUSED:
                return trials
    return trials


def measure_accuracy(report: Any) -> list[Any]:
    """For each output the dtype, and in units of its last place the largest error with normal data, and the contract's bound."""
    normal = [t for t in report.trials if t.data.kind == "normal"]
    outputs = [o for t in normal for o in t.outputs if o.worst_ulps is not None and o.allowed_ulps]
    return [[o.name, o.dtype, o.worst_ulps, o.allowed_ulps] for o in outputs]


def interpret_file(path: Path, row: Row) -> list[Row]:
    from case import load_cases

    trials = []
    for case in load_cases(path, module_name(row)):
        if case.name in row["cases"]:
            for seed in SEEDS:
                trials += compare_case(case, row, seed)
                if "start" in row and judge(trials) in (*REFUSED, "differs"):
                    return trials
    return trials


def compare_case(case: Any, row: Row, seed: int) -> list[Row]:
    from case import Make

    trials = []
    expected = expect_outputs(row["file"], case.name, seed, "start" in row)
    for nth, args in enumerate(case.args(Make(seed))):
        trial = {"case": case.name, "set": nth, "seed": seed}
        try:
            got = run_launcher(case.launcher, args, case.kwargs)
        except Exception as error:  # noqa: BLE001 (of a kernel under test)
            trials.append({**trial, "verdict": "rejected", "text": f"{type(error).__name__}: {error}"[-300:]})
        else:
            distance = max((measure_distance(a, b) for a, b in zip(got, expected[nth])), default=math.inf)
            if len(got) != len(expected[nth]):
                distance = math.inf
            limit = 1e-5 if "start" in row else tolerance_of(got)
            verdict = "same" if distance == 0 else "close" if distance < limit else "differs"
            trials.append({**trial, "verdict": verdict, "text": f"{distance:.3g}"})
        if "start" in row and trials[-1]["verdict"] in ("rejected", "differs"):
            break
    return trials


@functools.lru_cache(maxsize=64)
def expect_outputs(file: str, name: str, seed: int, planted: bool) -> list[list[Any]]:
    """The outputs of the correct kernel or, for a correct kernel, of its reference."""
    from case import Make

    case = load_correct(file)[name]
    if planted:
        return [run_launcher(case.launcher, args, case.kwargs) for args in case.args(Make(seed))]
    return [run_reference(case, args) for args in case.args(Make(seed))]


@functools.lru_cache(maxsize=8)
def load_correct(file: str) -> dict[str, Any]:
    from case import KERNELS, load_cases
    from triton.runtime.autotuner import Autotuner  # type: ignore[import-not-found]

    # No driver, so nothing can be measured: the first configuration is the best.
    Autotuner._bench = lambda *_args, **_meta: [0.0, 0.0, 0.0]
    return {c.name: c for c in load_cases(KERNELS / file, f"correct_{Path(file).stem}")}


def run_launcher(launcher: Any, args: list[Any], kwargs: Row) -> list[Any]:
    from case import list_outputs

    before = [a.clone() if hasattr(a, "clone") else a for a in args]
    result = launcher(*args, **kwargs)
    changed = [a for a, b in zip(args, before) if hasattr(a, "clone") and measure_distance(a, b) > 0]
    return [t.clone() for t in list_outputs(result, changed)]


def run_reference(case: Any, args: list[Any]) -> list[Any]:
    from case import list_outputs

    wide = [a.double() if hasattr(a, "is_floating_point") and a.is_floating_point() else a for a in args]
    return list_outputs(case.reference(*wide, **case.kwargs), [])


def tolerance_of(outputs: list[Any]) -> float:
    """Of a correct kernel, with the reference in f64."""
    smallest = min((t.dtype.itemsize for t in outputs if t.is_floating_point()), default=4)
    return 1e-4 if smallest == 4 else 3e-2


def measure_distance(a: Any, b: Any) -> float:
    """The largest difference, relative to the largest number. Zero if all bits are equal."""
    if a.shape != b.shape:
        return math.inf
    x, y = a.double(), b.double()
    same = (x == y) | (x.isnan() & y.isnan())
    if bool(same.all()):
        return 0.0
    if not bool((x.isfinite() == y.isfinite()).all()):
        return math.inf
    difference = (x - y)[~same].abs()
    size = y[y.isfinite()].abs()
    return float(difference.max() / max(float(size.max()) if size.numel() else 0.0, 1e-30))


def work(task: tuple[Row, str]) -> Row:
    return run_row(*task)


def list_rows(options: argparse.Namespace) -> list[Row]:
    from case import load_cases

    paths = sorted((HERE / "kernels").glob("*.py"))
    rows: list[Row] = []
    if options.correct or not options.planted:
        for path in paths:
            for case in load_cases(path, f"listed_{path.stem}"):
                rows.append(
                    {
                        "id": f"{path.stem}/{case.name}",
                        "kind": "correct",
                        "file": path.name,
                        "cases": [case.name],
                    }
                )
    if options.planted or not options.correct:
        rows += list_plants(paths, options.all)
    return [r for r in rows if options.only in f"{r['id']} {r['kind']}"]


def read_rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def format_share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part * 100 / max(whole, 1):.1f} %)"


def write_tables(rows: list[Row]) -> Iterable[str]:
    """Tables of correct kernels and of wrong formulas by kind, and the rows that need a look."""
    correct = [r for r in rows if r["kind"] == "correct"]
    planted = [r for r in rows if r["kind"] != "correct"]
    if correct:
        accepted = [r for r in correct if r["result"] in ("agree", "same", "close")]
        yield "## Correct kernels\n"
        yield f"Accepted: {format_share(len(accepted), len(correct))}.\n"
        yield "| kernel | result | first line |\n|---|---|---|"
        for row in correct:
            if row not in accepted:
                yield f"| `{row['id']}` | {row['result']} | {first_line(row)} |"
        yield ""
    yield from write_accuracy(correct)
    if planted:
        refused = [r for r in planted if is_refused(r)]
        yield "## Wrong formulas\n"
        yield f"Refused: {format_share(len(refused), len(planted))}.\n"
        kinds = collections.Counter(r["kind"] for r in planted)
        results = sorted({r["result"] for r in planted})
        yield "| kind | planted | refused | " + " | ".join(results) + " |"
        yield "|---" * (3 + len(results)) + "|"
        for kind, count in sorted(kinds.items()):
            mine = [r for r in planted if r["kind"] == kind]
            numbers = " | ".join(str(sum(r["result"] == name for r in mine)) for name in results)
            yield f"| {kind} | {count} | {format_share(sum(map(is_refused, mine)), count)} | {numbers} |"
        yield "\n| not refused | result | before | after |\n|---|---|---|---|"
        for row in planted:
            if not is_refused(row):
                before, after = (
                    " ".join(row[k].split())[:60].replace("|", "\\|") for k in ("before", "after")
                )
                yield f"| `{row['id']}` | {row['result']} | `{before}` | `{after}` |"


def write_accuracy(rows: list[Row]) -> Iterable[str]:
    """A table of the error of well-known kernels. A kernel with several outputs or sets of arguments has its worst one."""
    yield "## Accuracy\n"
    yield "| kernel | dtype | ulp | of |\n|---|---|---|---|"
    for row in rows:
        found = [a for t in row["trials"] for a in t.get("accuracy", []) if row["id"] in KNOWN]
        for dtype in sorted({a[1] for a in found}):
            mine = [a for a in found if a[1] == dtype]
            _, _, worst, allowed = max(mine, key=lambda a: a[2] / a[3])
            yield f"| `{row['id']}` | {dtype} | {worst:.3g} | {allowed:.3g} |"
    yield ""


def is_refused(row: Row) -> bool:
    return row["result"] in (*REFUSED, "differs")


def first_line(row: Row) -> str:
    bad = next((t for t in row["trials"] if t["verdict"] not in ("agree", "same", "close")), None)
    return " ".join(str(bad["text"]).split())[:120].replace("|", "\\|") if bad else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--correct", action="store_true", help="correct kernels only")
    parser.add_argument("--planted", action="store_true", help="wrong formulas only")
    parser.add_argument("--all", action="store_true", help="all wrong formulas, not some of each kind")
    parser.add_argument("--only", default="", help="rows with this text in their id or kind")
    parser.add_argument("--engine", choices=("oracle", "interpret"), default="oracle")
    options = parser.parse_args()
    if options.engine == "interpret":
        os.environ["TRITON_INTERPRET"] = "1"
    os.environ["OMP_NUM_THREADS"] = "1"
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / f"{options.name}.jsonl"
    rows = list_rows(options)
    done = {r["id"]: r for r in read_rows(path)}
    # A kernel that was edited since is run again.
    done = {r["id"]: done[r["id"]] for r in rows if r.items() <= done.get(r["id"], {}).items()}
    tasks = [(r, options.engine) for r in rows if r["id"] not in done]
    with (
        multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=400) as pool,
        path.open("a") as file,
    ):
        for count, row in enumerate(pool.imap_unordered(work, tasks, chunksize=4), 1):
            done[row["id"]] = row
            file.write(json.dumps(row) + "\n")
            file.flush()
            if count % 50 == 0:
                sys.stderr.write(f"{count} of {len(tasks)}\n")
    for line in write_tables([done[r["id"]] for r in rows]):
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
