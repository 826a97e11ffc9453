"""Tests of Liger-Kernel with `cerith_triton.check` in place of its tolerances.

CERITH_LIGER names a copy of https://github.com/linkedin/Liger-Kernel; nothing of it is in this repository. Each id is the name of one of the library's tests and its parameters, with smaller shapes if there are more than 2^14 elements.

`pytest test_liger.py` runs them. `python3 test_liger.py OUT.jsonl [--jobs N] [--only TEXT]` writes a row for each, in N processes, and prints
the tables for `reports/oracle.md`.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import cerith_triton  # type: ignore[import-not-found]
import pytest
from liger import Case, open_library
from liger_layers import list_layers
from liger_losses import list_all_losses

open_library()
CASES = [*list_layers(), *list_all_losses()]
LIMIT = 120  # seconds of one case
Row = dict[str, Any]
VERDICTS = ("agree", "inaccurate", "wrong", "unwritten", "undefined", "rejected", "undecided", "not judged")


def compare(case: Case, seed: int | None = None, accumulate: str = "float32") -> Any:
    """The result of `check` for a case."""
    return cerith_triton.check(
        case.launcher,
        like=case.reference,
        args=case.make_args(),
        data=case.data,
        seed=seed,
        accumulate=accumulate,
        raises=False,
    )


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_liger(case: Case) -> None:
    comparison = compare(case)
    assert comparison, comparison.text


class TimeOutError(Exception):
    """A case took longer than `LIMIT`."""


def stop(_signal: int, _frame: object) -> None:
    raise TimeOutError


def measure(index: int) -> Row:
    """Runs a case, and returns its row."""
    case = CASES[index]
    row: Row = {"name": case.name, "operation": case.operation, "atol": case.atol, "rtol": case.rtol}
    row["dtype"] = case.dtype
    started = time.monotonic()
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    try:
        comparison = compare(case, seed=7)
        row.update(verdict=comparison.verdict, text=comparison.text)
        row["data"] = {trial.data.kind: trial.verdict for trial in comparison.trials}
        if comparison.verdict == "inaccurate" and case.dtype != "float32":
            row["narrow"] = compare(case, comparison.seed, case.dtype).verdict
        row["outputs"] = [
            list_errors(trial) for trial in comparison.trials if trial.data.kind in ("given", "normal")
        ]
    except TimeOutError:
        row.update(verdict="not judged", text=f"more than {LIMIT} s")
    except Exception:  # noqa: BLE001 (of a library under test)
        row.update(verdict="not judged", text=traceback.format_exc(limit=-3)[-1500:])
    finally:
        signal.alarm(0)
    row["seconds"] = round(time.monotonic() - started, 2)
    return row


def list_errors(trial: Any) -> Row:
    """For each output, the largest error, and the largest error that the contract admits, in ulps of its dtype."""
    return {one.name: [one.verdict, one.worst_ulps, one.allowed_ulps, one.dtype] for one in trial.outputs}


def write_tables(rows: list[Row]) -> str:
    """The tables of a run, in Markdown."""
    groups: dict[str, list[Row]] = collections.defaultdict(list)
    for row in rows:
        groups[row["operation"]].append(row)
    lines = ["| operation | tests | " + " | ".join(VERDICTS) + " | median s | most s |"]
    lines.append("|---" * (len(VERDICTS) + 4) + "|")
    for operation, members in [*groups.items(), ("all", rows)]:
        counts = collections.Counter(row["verdict"] for row in members)
        seconds = sorted(row["seconds"] for row in members)
        cells = [operation, len(members), *(counts[verdict] for verdict in VERDICTS)]
        cells += [f"{seconds[len(seconds) // 2]:.1f}", f"{seconds[-1]:.1f}"]
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    lines += ["", "| operation | dtype | atol | rtol | ulp | of |", "|---|---|---|---|---|---|"]
    for (operation, dtype, atol, rtol), (worst, allowed) in find_errors(rows).items():
        lines.append(f"| {operation} | {dtype} | {atol:g} | {rtol:g} | {worst:.3g} | {allowed:.3g} |")
    return "\n".join(lines)


def find_errors(rows: list[Row]) -> dict[tuple[str, str, float, float], tuple[float, float]]:
    """The largest measured and admitted error of accepted tests, by operation, dtype and tolerance."""
    found: dict[tuple[str, str, float, float], tuple[float, float]] = {}
    for row in rows:
        key = (row["operation"], row["dtype"], row["atol"], row["rtol"])
        for outputs in row.get("outputs", []):
            for verdict, worst, allowed, _dtype in outputs.values():
                if verdict == "agree" and worst is not None and allowed is not None:
                    before = found.get(key, (0.0, 0.0))
                    found[key] = (max(before[0], worst), max(before[1], allowed))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="the file of rows")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", default="", help="run cases with this text in their names")
    options = parser.parse_args()
    chosen = [index for index, case in enumerate(CASES) if options.only in case.name]
    rows: list[Row] = []
    # Threads of torch and recorded launches do not survive a fork.
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool, options.out.open("w") as file:
        for row in pool.imap_unordered(measure, chosen):
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(f"{row['verdict']:<11} {row['seconds']:>7.2f} s  {row['name']}", file=sys.stderr)
    order = {case.name: index for index, case in enumerate(CASES)}
    print(write_tables(sorted(rows, key=lambda row: order[row["name"]])))


if __name__ == "__main__":
    main()
