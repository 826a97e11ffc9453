"""How many planted mistakes does `cerith check` find?

`measure.py BINARY [--jobs N] [--name before] [--only KIND] [--no-truth]`: checks every unmodified kernel, then every
planted one, and writes NAME-table.md (the table by kind), NAME.jsonl (every planted mistake with its result) and NAME-misses.md.
Results are kept in cache/ by the hashes of binary and file.

A mistake is found if the planted kernel has a failure that the unmodified kernel does not have, by kind and line. `COLUMNS` explains
the results.

The truth about a mistake does not depend on BINARY: it comes from the reference of one fixed binary, TRUTH. Its `check --keep` makes
launches of the unmodified kernel. Each launch runs both kernels over copies of the same memory, and the copies are compared.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import functools
import hashlib
import json
import math
import multiprocessing
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import yaml
from plant import make_plants

HERE = Path(os.environ.get("CERITH_PLANTS", "target/plants")).resolve()
TRUTH = Path(os.environ.get("CERITH_TRUTH", "target/release/cerith")).resolve()
# Each process plants in its own copy of the files.
WORK = HERE / "work" / str(os.getpid())
LIMIT = 20
# In seconds: files that take longer get no mistakes, because each mistake means another check.
SLOW = 5
Row = dict[str, Any]
COUNT = """import triton
import triton.language as tl


@triton.jit
def count(a, b, out, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.int32)
    for first in range(0, n, BLOCK):
        at = first + tl.arange(0, BLOCK)
        x = tl.load(a + at, mask=at < n, other=0)
        y = tl.load(b + at, mask=at < n, other=0)
        same = (x == y) | ((x != x) & (y != y))
        total += tl.where(same, 0, 1)
    tl.store(out, tl.sum(total, axis=0))
"""


def digest(*parts: bytes | str) -> str:
    hasher = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        hasher.update(len(data).to_bytes(8, "little") + data)
    return hasher.hexdigest()


def cache_path(key: str) -> Path:
    path = HERE / "cache" / key[:2] / f"{key}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def run(args: list[str]) -> tuple[int, str, str, float]:
    start = time.monotonic()
    try:
        done = subprocess.run(args, cwd=WORK, capture_output=True, text=True, timeout=LIMIT, check=False)
        code, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        code, out, err = 124, "", ""
    return code, out, err, time.monotonic() - start


class Binary:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.hash = digest(path.read_bytes())

    def check(self, name: str, data: bytes, kernel: str | None) -> Row:
        key = cache_path(digest("check", self.hash, name, data, kernel or ""))
        if key.exists():
            return dict(json.loads(key.read_text()))
        original = (WORK / name).read_bytes()
        (WORK / name).write_bytes(data)
        which = f"{name}:{kernel}" if kernel else name
        code, out, err, seconds = run(
            [str(self.path), "check", which, "--engine", "reference", "--format", "jsonl"]
        )
        (WORK / name).write_bytes(original)
        row = {
            "rc": code,
            "rows": [json.loads(x) for x in out.splitlines()],
            "err": err[-2000:],
            "seconds": seconds,
        }
        key.write_text(json.dumps(row))
        return row

    def keep_cases(self, name: str, data: bytes, kernel: str) -> Row:
        """The cases that `check` tries for a kernel, and the files beside them."""
        key = cache_path(digest("kept", self.hash, name, data, kernel))
        if key.exists():
            return dict(json.loads(key.read_text()))
        shutil.rmtree(WORK / "keep", ignore_errors=True)
        original = (WORK / name).read_bytes()
        (WORK / name).write_bytes(data)
        run([str(self.path), "check", f"{name}:{kernel}", "--engine", "reference", "--keep", "keep"])
        (WORK / name).write_bytes(original)
        found = {
            "cases": [
                yaml.load(p.read_text(), yaml.CSafeLoader) for p in sorted((WORK / "keep").glob("*.yaml"))
            ],
            "files": {
                str(p.relative_to(WORK / "keep")): p.read_text()
                for p in sorted((WORK / "keep").rglob("*.py"))
            },
        }
        key.write_text(json.dumps(found))
        return found

    def find_truth(self, name: str, data: bytes, planted: bytes, kernel: str, masked: str) -> dict[str, str]:
        """The result of each launch: same, wrong, undefined bytes, or how the reference stopped."""
        key = cache_path(digest("truth with views", self.hash, name, data, planted, kernel, masked))
        if key.exists():
            return dict(json.loads(key.read_text()))
        kept = self.keep_cases(name, data, kernel)
        if not kept["cases"]:
            return {}
        main = kept["cases"][0]["kernel"].split(":")[0]
        lines = kept["files"][main].split("\n")
        pairs = list(zip(data.decode().split("\n"), planted.decode().split("\n"), strict=True))
        for i, (old, new) in enumerate(pairs):
            if old != new:
                if i >= len(lines) or lines[i].rstrip() != old.rstrip():
                    return {"": "unknown: the kept file has another text"}
                lines[i] = new
        folder = WORK / "both"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for path, text in {**kept["files"], "planted.py": "\n".join(lines), "count.py": COUNT}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        for i, case in enumerate(kept["cases"]):
            (folder / f"c{i:03d}.yaml").write_text(json.dumps(launch_both(case)))
        options = [
            "--engine",
            "reference",
            "--format",
            "jsonl",
            "--out",
            "reports",
            "--views",
            "--masked",
            masked,
        ]
        _, out, _, _ = run([str(self.path), "run", "both", *options])
        said: dict[str, str] = {}
        for line in out.splitlines():
            event = json.loads(line)
            if event["event"] == "verdict":
                said[event["case"]] = outcome_of(event)
        key.write_text(json.dumps(said))
        return said


def outcome_of(event: Row) -> str:
    end = event.get("outcomes", {}).get("reference", {"outcome": "finished"})
    if end["outcome"] in ("trapped", "rejected") and end.get("launch", 1) <= 1:
        return f"{'undefined' if end['outcome'] == 'trapped' else 'rejected'} {end.get('error', '')}".strip()
    if end["outcome"] != "finished":
        return f"unknown {end['outcome']}"
    if "outside-tensor" in json.dumps({k: v for k, v in event.items() if k != "exhibit"}):
        return "undefined outside-tensor"
    if "unequal" in [x["storage"] for x in event.get("left_out", [])]:
        return "undefined bytes"
    return "wrong" if event["verdict"] == "differ" else "same"


def launch_both(case: Row) -> Row:
    """A case that launches the original and the planted kernel over two copies of the same memory, and counts what differs."""
    names = [*case["storages"], *case.get("tensors", {})]
    pattern = re.compile(
        r"(?<![\w'\"])(" + "|".join(sorted(map(re.escape, names), key=len, reverse=True)) + r")(?![\w'\"])"
    )

    def copy(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub(r"p__\1", value)
        if isinstance(value, list):
            return [copy(x) for x in value]
        if isinstance(value, dict):
            return {k: copy(v) for k, v in value.items()}
        return value

    storages, tensors, launches = dict(case["storages"]), dict(case.get("tensors", {})), []
    for name, storage in case["storages"].items():
        fill = storage["fill"]
        storages[f"p__{name}"] = {
            **storage,
            "fill": copy(fill) if isinstance(fill, dict) and "addresses" in fill else fill,
        }
    tensors |= {f"p__{name}": copy(value) for name, value in case.get("tensors", {}).items()}
    storages["unequal"] = {"dtype": "i32", "shape": [len(case["storages"])], "fill": "zeros"}
    for launch in case["launches"]:
        launches.append({**launch, "kernel": case["kernel"]})
    for launch in case["launches"]:
        launches.append(
            {**launch, "kernel": "planted.py:" + case["kernel"].split(":")[1], "args": copy(launch["args"])}
        )
    for i, (name, storage) in enumerate(case["storages"].items()):
        size = math.prod(storage["shape"])
        fill = storage["fill"]
        if size == 0 or fill == "uninit" or (isinstance(fill, dict) and "addresses" in fill):
            continue
        block = min(4096, 1 << max(size - 1, 1).bit_length())
        args = {"a": name, "b": f"p__{name}", "out": f"unequal[{i}:]", "n": size, "BLOCK": block}
        if len(storage["shape"]) != 1:
            args |= {"a": f"{name}.view(-1)", "b": f"p__{name}.view(-1)"}
        launches.append({"grid": [1], "kernel": "count.py:count", "args": args})
    made = {
        "about": case["about"],
        "kernel": case["kernel"],
        "storages": storages,
        "launches": launches,
        "gives": {"unequal": [0] * len(case["storages"])},
    }
    return made | ({"tensors": tensors} if tensors else {})


def findings_of(row: Row, kernel: str, field: str = "findings") -> list[Row]:
    return [f for r in row["rows"] if r["kernel"] == kernel for f in r.get(field, [])]


def key_of(finding: Row) -> tuple[str, int]:
    place = finding.get("place", "").rsplit(":", 1)[-1]
    return finding["kind"], int(place) if place.isdigit() else 0


def lines_of(finding: Row) -> set[int]:
    """Every line that a finding shows."""
    shown = {int(x) for x in re.findall(r"^ *(\d+) \|", finding["text"], re.MULTILINE)}
    return shown | {key_of(finding)[1]}


def list_failures(row: Row, kernel: str) -> list[Row]:
    """Everything that makes a kernel fail: its findings, and its preconditions under a kind that names the condition."""
    conditions = [
        f | {"kind": f"{f['kind']} unless {', '.join(f['unless'])}"}
        for f in findings_of(row, kernel, "preconditions")
    ]
    return findings_of(row, kernel) + conditions


def judge(base: Row, now: Row, kernel: str, first: int, last: int) -> Row:
    known = {key_of(f) for f in list_failures(base, kernel)}
    new = [f for f in list_failures(now, kernel) if key_of(f) not in known]
    here = set(range(first, last + 1))
    said: Row = {"rc": now["rc"]}
    if new:
        best = next((f for f in new if lines_of(f) & here), new[0])
        return said | {
            "result": "at" if lines_of(best) & here else "caused",
            "finding": best["kind"],
            "text": best["text"],
        }
    result = {r["kernel"]: r["result"] for r in now["rows"]}.get(kernel, "none")
    known = {key_of(f) for f in findings_of(base, kernel, "warnings")}
    warned = [f for f in findings_of(now, kernel, "warnings") if key_of(f) not in known]
    if warned:
        return said | {"result": "warned", "finding": warned[0]["kind"], "text": warned[0]["text"]}
    known = {key_of(f) for f in findings_of(base, kernel, "not_judged")}
    doubts = [f for f in findings_of(now, kernel, "not_judged") if key_of(f) not in known]
    if now["rc"] in (2, 124, 101, 134, 137) or result == "none":
        return said | {"result": f"exit {now['rc']}", "text": now["err"][-300:]}
    if result in ("not-judged", "not-tried"):
        why = next((f for f in doubts if lines_of(f) & here), doubts[0] if doubts else None)
        text = (
            why["text"] if why else next((r.get("why", "") for r in now["rows"] if r["kernel"] == kernel), "")
        )
        return said | {"result": "not judged", "finding": why["kind"] if why else "", "text": text}
    if doubts:
        best = next((f for f in doubts if lines_of(f) & here), doubts[0])
        return said | {"result": "some not judged", "finding": best["kind"], "text": best["text"]}
    changed = [
        [(r["launches"], r.get("changed")) for r in x["rows"] if r["kernel"] == kernel] for x in (base, now)
    ]
    return said | {
        "result": "adapted" if changed[0] != changed[1] else "silent",
        "text": str(changed[1]) if changed[0] != changed[1] else "",
    }


def truth_of(said: dict[str, str], alone: dict[str, str]) -> str:
    """The worst effect in the launches whose results are reproducible: two runs of the original are equal."""
    of = [v for c, v in said.items() if alone.get(c) == "same"]
    if not of:
        return "unknown"
    for word in ("undefined", "rejected"):
        stopped = [v for v in of if v.startswith(word) and v != "undefined bytes"]
        if stopped:
            return stopped[0]
    other = [v for v in of if v not in ("same", "wrong", "undefined bytes")]
    if other:
        return other[0]
    return next((w for w in ("wrong", "undefined bytes") if w in of), "same")


REASONS = {
    "other changed": "the values of masked-off lanes reach no store",
    "other removed": "the values of masked-off lanes reach no store, so no result is undefined",
    "cast lost": "the cast changes no result for f32, f16 and bf16",
    "store before load": "the two accesses are of different memory",
}


# Planted changes that are not a mistake, read by hand with the kernel and its launcher: one line for each, with the reason.
EQUIVALENT = Path(__file__).parent / "equivalent.jsonl"


@functools.cache
def read_equivalent() -> dict[tuple[str, str, str, str], str]:
    rows = map(json.loads, EQUIVALENT.read_text().splitlines())
    return {(row["file"], row["kernel"], row["kind"], row["after"]): row["why"] for row in rows}


def explain_unchanged(plant: Row, said: Row) -> tuple[str, str]:
    """`same`, with the reason, if the change is not a mistake; otherwise `unseen`: no launch shows it, but another might."""
    kind = str(plant["kind"])
    if kind not in REASONS or said["result"] in ("at", "caused"):
        return "unseen", ""
    if kind == "cast lost" and "int64" in str(plant["before"]):
        return "same", "only over 2^31 elements show it"
    return "same", REASONS[kind]


GROUPS = ("unseen", "undefined", "rejected", "wrong", "undefined bytes", "same", "launcher", "unknown")


def group(truth: str) -> str:
    return truth if truth in GROUPS else truth.split()[0] if truth.split()[0] in GROUPS else "unknown"


def measure_file(binary: Binary, judge_truth: bool, only: str | None, percent: int, file: Path) -> list[Row]:
    if not WORK.exists():
        shutil.copytree(HERE / "kernels", WORK)
    oracle = Binary(TRUTH)
    rows: list[Row] = []
    data, name = file.read_bytes(), str(file.relative_to(HERE / "kernels"))
    whole = binary.check(name, data, None)
    judged = [r["kernel"] for r in whole["rows"] if r["result"] in ("clean", "found")]
    slow = whole["seconds"] > SLOW
    for kernel in [] if slow else judged:
        base = binary.check(name, data, kernel)
        for plant in make_plants(file, data, {kernel}):
            number = int(digest(name, kernel, str(plant["kind"]), str(plant["start"]))[:8], 16)
            if (only and only not in str(plant["kind"])) or number % 100 >= percent:
                continue
            start, end = int(str(plant["start"])), int(str(plant["end"]))
            planted = data[:start] + str(plant["text"]).encode() + data[end:]
            now = binary.check(name, planted, kernel)
            said = judge(base, now, kernel, int(str(plant["line"])), int(str(plant["last"])))
            truth = "launcher" if str(plant["kind"]).startswith("launcher") else "unknown"
            if judge_truth and truth == "unknown":
                # Masked-off lanes load zeros, as on NVIDIA's GPUs, unless the mistake is about their value.
                masked = "undefined" if plant["kind"] == "other removed" else "zero"
                alone = oracle.find_truth(name, data, data, kernel, masked)
                truth = truth_of(oracle.find_truth(name, data, planted, kernel, masked), alone)
                if truth == "same":
                    truth, plant["reason"] = explain_unchanged(plant, said)
            reason = read_equivalent().get((name, kernel, str(plant["kind"]), str(plant["after"])))
            if reason and said["result"] not in ("at", "caused"):
                truth, plant["reason"] = "same", f"`{kernel}`: {reason}"
            rows.append(
                {
                    **plant,
                    "edit": plant["text"],
                    "text": "",
                    **said,
                    "truth": truth,
                    "seconds": now["seconds"],
                }
            )
    return rows


def measure(
    binary: Binary, judge_truth: bool, only: str | None, files: list[Path], percent: int, jobs: int
) -> list[Row]:
    rows: list[Row] = []
    # Spawned, so that each process has a WORK of its own.
    with concurrent.futures.ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        each = functools.partial(measure_file, binary, judge_truth, only, percent)
        for file, found in zip(files, pool.map(each, files), strict=True):
            rows += found
            print(f"{len(rows):6} {file}", flush=True)
    return rows


# The columns of the table, explained for its readers.
COLUMNS = (
    (
        "*Planted* counts the mistakes, without the *excluded* changes, which change no result. *Found* is the sum of *at* (the report shows "
        "a line of the mistake) and *caused* (the report is elsewhere in the kernel)."
    ),
    (
        "The other mistakes are *warned* (a new warning only), *not judged* (`check` judges the kernel no longer), *some not judged* (it has "
        "fewer results for the kernel), *adapted* (it chose other launches and reports nothing), *silent* (it chose the same launches and "
        "reports nothing) or *other* (`check` failed or took too long)."
    ),
    (
        "The last columns count mistakes by their effect on launches of the unmodified kernel: *undefined* behaviour, *wrong* results, or "
        "*unseen* (no difference). A column *… found* counts how many mistakes of the column before it were found."
    ),
)


def write_table(rows: list[Row]) -> list[str]:
    head = [
        "kind",
        "planted",
        "found",
        "at",
        "caused",
        "warned",
        "not judged",
        "some not judged",
        "adapted",
        "silent",
        "other",
        "excluded",
    ]
    head += ["undefined", "… found", "wrong", "… found", "unseen", "… found"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    kinds = sorted({r["kind"] for r in rows}, key=lambda k: (k.startswith("launcher"), k))
    for kind in [*kinds, "all in kernels", "all in launchers"]:
        of = [
            r
            for r in rows
            if r["kind"] == kind
            or (kind.startswith("all") and r["kind"].startswith("launcher") == kind.endswith("launchers"))
        ]
        real = [r for r in of if r["truth"] != "same"]
        count = collections.Counter(r["result"] for r in real)
        hit = [r for r in real if r["result"] in ("at", "caused")]
        undefined = [r for r in real if group(r["truth"]) == "undefined"]
        wrong = [r for r in real if group(r["truth"]) in ("wrong", "undefined bytes")]
        known = ("at", "caused", "warned", "not judged", "some not judged", "adapted", "silent")
        cells = [
            len(real),
            f"{len(hit)} ({len(hit) * 100 // max(len(real), 1)} %)",
            *(count[k] for k in known),
        ]
        cells += [sum(v for k, v in count.items() if k not in known), len(of) - len(real)]
        for part in (undefined, wrong, [r for r in real if r["truth"] == "unseen"]):
            cells += [len(part), sum(r["result"] in ("at", "caused") for r in part)]
        lines.append("| " + " | ".join([kind, *map(str, cells)]) + " |")
    return lines


def write_misses(rows: list[Row]) -> list[str]:
    lines = ["# Misses", ""]
    for r in rows:
        if r["result"] in ("at", "caused") or r["truth"] == "same":
            continue
        lines += [f"## {r['kind']}: {r['file']}:{r['line']} `{r['kernel']}`", ""]
        lines += [f"check: **{r['result']}** {r.get('finding', '')}; truth: **{r['truth']}**", ""]
        lines += ["```diff", f"- {r['before']}", f"+ {r['after']}", "```", ""]
        if r.get("text"):
            lines += ["```", r["text"], "```", ""]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("binary", type=lambda x: Path(x).resolve())
    parser.add_argument("--name", default="before")
    parser.add_argument("--only", help="kinds with this in their name")
    parser.add_argument("--files", default="", help="files with this in their path")
    parser.add_argument(
        "--percent", type=int, default=100, help="of the planted mistakes, the same in every run"
    )
    parser.add_argument("--no-truth", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    shutil.rmtree(HERE / "work", ignore_errors=True)
    listed = [json.loads(x)["file"] for x in (HERE / "provenance.jsonl").read_text().splitlines()]
    files = sorted(HERE / x for x in listed if x.startswith("kernels/") and args.files in x)
    rows = measure(Binary(args.binary), not args.no_truth, args.only, files, args.percent, args.jobs)
    shutil.rmtree(HERE / "work", ignore_errors=True)
    with open(HERE / f"{args.name}.jsonl", "w") as out:
        out.writelines(json.dumps(r) + "\n" for r in rows)
    table = [*COLUMNS, "", *write_table(rows)]
    (HERE / f"{args.name}-table.md").write_text("\n".join(table) + "\n")
    (HERE / f"{args.name}-misses.md").write_text("\n".join(write_misses(rows)) + "\n")
    print("\n".join(table))


if __name__ == "__main__":
    main()
