"""Write `reports/check.md` from the measurements of `measure.py`: `report.py BINARY NAME… > reports/check.md`.

Each NAME is a NAME.jsonl of `measure.py`. A mistake in several of them counts once, with the last result. Precision is measured on the
unmodified kernels that BINARY checked: `read.jsonl` has a reader's judgement of each of their findings.
"""

from __future__ import annotations

import collections
import json
import sys
from pathlib import Path

from measure import COLUMNS, HERE, REASONS, SLOW, Binary, Row, cache_path, digest, list_failures, write_table

# The likely cause of most misses of a kind, from reading the planted changes. Few of them were debugged.
CAUSES = {
    "launcher": "`check` evaluates the launcher of about half of the kernels, and otherwise infers the grid from the kernel, so a "
    "mistake in the launcher changes nothing. One program too many is masked off, and a changed grid may be another kernel's.",
    "+ 1 in an index": "The tensor's other accesses are of another shape, or it is one of several that only an index from memory "
    "bounds. Then its size is unknown.",
    "accumulator begins with another value": "Every launch computes the same wrong value: only an oracle finds it.",
    "block's offset lost": "The size of an output depends on the block, so launches with other blocks are not compared.",
    "block's size lost": "As for `block's offset lost`, and the kernel writes partial results for each block.",
    "cast lost": "It changes results only in a dtype or a size that is not launched.",
    "half of a mask lost": "The grid and the block divide the size that the other half bounds.",
    "loop's bound floored": "Numbers are guessed, so launches with other blocks are not compared.",
    "mask < made <=": "The launcher is not used, because an input that nothing decides does not fit, or the comparison is of values and "
    "not of an index.",
    "mask removed": "The launcher is not used, because an input that nothing decides does not fit, and the tensor has no other bound.",
    "mask with the wrong size": "The mask is the only bound of the tensor, so `check` takes the wrong size for its size.",
    "neighbour's program": "A number is guessed, or the kernel writes partial results.",
    "other changed": "All launches agree, because the block is covered: only an oracle finds it.",
    "other removed": "The launches are not judged, because numbers are guessed.",
    "row and column swapped": "Blocks of the same size hide it, or the kernel does not compile with the guess.",
    "stride lost": "The lost stride is the last one, and inferred tensors have contiguous rows.",
    "strides swapped": "The inferred tensor gets the shape that swapped strides suggest.",
    "wrong axis of program_id": "Both axes are named, and their grids have the same number of programs.",
}

# Findings in unmodified kernels, read by hand with the kernel and its launcher: one line per kernel, with `judgement` (true, contract:
# it appears only with arguments that no caller passes, false, or unclear) and `why`.
READ = Path(__file__).parent / "read.jsonl"

# Bugs that maintainers of libraries have fixed, one per line, with the result of `check` on the file before and after the fix. `line` is
# a line of the file before: of the finding, or else of the fix. `result_before` is at, caused, warned, hidden (a launch showed it, but
# `check` did not report it), missed or not judged.
FIXED = Path(__file__).parent / "fixed.jsonl"

REPORTED = {
    "at": "yes",
    "caused": "yes, at a line that the fixed line decides",
    "warned": "yes, a warning",
}

AFTER = {"silent": "yes", "other finding": "yes, with another finding"}


def read_judgements() -> dict[tuple[str, str], Row]:
    rows = map(json.loads, READ.read_text().splitlines())
    return {(row["file"], row["kernel"]): row for row in rows}


def format_share(part: int, of: int) -> str:
    return f"{part} of {of} ({part * 100 // max(of, 1)} %)"


def read_rows(names: list[str]) -> list[Row]:
    rows: dict[tuple[str, str, str, int], Row] = {}
    for name in names:
        for text in (HERE / f"{name}.jsonl").read_text().splitlines():
            row = json.loads(text)
            rows[row["file"], row["kernel"], row["kind"], row["start"]] = row
    return list(rows.values())


def is_found(row: Row) -> bool:
    return row["result"] in ("at", "caused")


def read_unmodified(binary: Binary, file: str, kernel: str) -> Row | None:
    """The report of `check` on an unmodified kernel, if it was checked within the time limit."""
    path = Path(file)
    name = str(path.relative_to(HERE / "kernels"))
    stored = cache_path(digest("check", binary.hash, name, path.read_bytes(), kernel))
    said: Row = json.loads(stored.read_text()) if stored.exists() else {"rc": 124}
    return None if said["rc"] == 124 else said


def select_clean(binary: Binary, rows: list[Row]) -> list[Row]:
    """The mistakes in kernels that have no failure when unmodified."""
    kernels = {(row["file"], row["kernel"]) for row in rows}
    unmodified = {(file, kernel): read_unmodified(binary, file, kernel) for file, kernel in kernels}
    clean = {of for of, said in unmodified.items() if said and not list_failures(said, of[1])}
    return [row for row in rows if (row["file"], row["kernel"]) in clean]


def format_found(title: str, rows: list[Row]) -> str:
    return f"| {title} | {format_share(sum(map(is_found, rows)), len(rows))} |"


def list_misses(real: list[Row]) -> list[str]:
    missed: collections.Counter[str] = collections.Counter()
    for row in real:
        if not is_found(row):
            missed["launcher" if row["kind"].startswith("launcher") else row["kind"]] += 1
    lines = []
    for nth, (kind, count) in enumerate(missed.most_common(10), 1):
        lines.append(f"{nth}. **{kind}** ({count}): {CAUSES.get(kind, 'not explained')}")
    return lines


def list_clean(binary: Binary, rows: list[Row]) -> list[str]:
    kernels = sorted({(row["file"], row["kernel"]) for row in rows})
    count: collections.Counter[str] = collections.Counter()
    judgements = read_judgements()
    lines = []
    for file, kernel in kernels:
        said = read_unmodified(binary, file, kernel)
        if not said:
            continue
        name = str(Path(file).relative_to(HERE / "kernels"))
        count["all"] += 1
        failures = list_failures(said, kernel)
        findings = [one for one in failures if "unless" not in one]
        count["with a precondition"] += len(findings) < len(failures)
        if not findings:
            continue
        count["with a finding"] += 1
        read = judgements.get((f"kernels/{name}", kernel), {"judgement": "not read", "why": ""})
        kinds = ", ".join(
            sorted({f"{one['kind']} in {one.get('place', '').rsplit(':', 1)[-1]}" for one in findings})
        )
        lines.append(
            f"| {name} | `{kernel}` | {kinds} | {read['judgement']} | {read['why'].replace('|', '/')} |"
        )
    read_of_all = collections.Counter(row["judgement"] for row in judgements.values())
    words = ", ".join(f"{number} {word}" for word, number in read_of_all.most_common())
    head = [
        (
            f"{count['all']} kernels with planted mistakes were also checked unmodified: {count['with a finding']} have a finding, and "
            f"{count['with a precondition']} a precondition. {len(judgements)} kernels of the whole collection have findings, including kernels without planted mistakes. These "
            f"findings were read by hand: {words}. *Contract*: the finding appears only with arguments that no caller passes, so it should be a precondition."
        ),
        "",
        "| file | kernel | finding | judgement | reason |",
        "|---|---|---|---|---|",
    ]
    return head + lines


def format_bug(row: Row) -> str:
    library, name = row["library"], Path(row["file"]).name
    return f"| {library} | [{row['bug']}]({row['link']}) | `{row['kernel'].replace(', ', '`, `')}` | {name}:{row['line']}"


def list_fixed() -> list[str]:
    rows = [json.loads(text) for text in FIXED.read_text().splitlines()]
    found = [row for row in rows if row["result_before"] in REPORTED]
    missed = [row for row in rows if row["result_before"] not in REPORTED]
    silent = sum(row["result_after"] == "silent" for row in found)
    warned = sum(row["result_before"] == "warned" for row in found)
    libraries = collections.Counter(row["library"] for row in rows)
    most, count = libraries.most_common(1)[0]
    causes = collections.Counter(row["cause"] for row in missed)
    lines = [
        (
            f"{len(rows)} bugs of {len(libraries)} libraries, {count} of them of {most}, fixed by {len({row['link'] for row in rows})} changes. Messages of commits and the changed lines selected "
            "them, before `check` ran. Each file is checked as it was before and after the fix, with the reference alone. `check` reports "
            f"{format_share(len(found), len(rows))} of the bugs, in {len({row['library'] for row in found})} libraries: {len(found) - warned} "
            f"as a finding or a precondition, and {warned} as a warning. No fixed file has the reported finding, and {silent} of them have "
            "no finding and no precondition in these kernels."
        ),
        "",
        "| library | bug | kernel | line | reported | silent after the fix | note |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in found:
        lines.append(
            f"{format_bug(row)} | {REPORTED[row['result_before']]} | {AFTER[row['result_after']]} | {row['note']} |"
        )
    words = ", ".join(f"{cause} ({number})" for cause, number in causes.most_common())
    lines += [
        "",
        f"Reasons of the misses: {words}.",
        "",
        "| library | missed bug | kernel | line | reason |",
        "|---|---|---|---|---|",
    ]
    for cause, _ in causes.most_common():
        lines += [f"{format_bug(row)} | {row['note']} |" for row in missed if row["cause"] == cause]
    return lines


def count_judged(binary: Binary) -> str:
    """The share of kernels that are judged, over all files that were checked. Functions that kernels call do not count."""
    judged = total = files = slow = 0
    for path in sorted((HERE / "kernels").rglob("*.py")):
        name = str(path.relative_to(HERE / "kernels"))
        stored = cache_path(digest("check", binary.hash, name, path.read_bytes(), ""))
        if not stored.exists():
            continue
        files += 1
        said = json.loads(stored.read_text())
        slow += said["seconds"] > SLOW
        for row in said["rows"]:
            is_helper = row["result"] == "not-tried" and "function that kernels call" in row.get("why", "")
            total += not is_helper
            judged += row["result"] in ("clean", "found")
    return (
        f"`check` judges {format_share(judged, total)} kernels of {files} files. No mistakes are planted in the {slow} files that take over "
        f"{SLOW} seconds to check."
    )


def main() -> None:
    binary = Binary(Path(sys.argv[1]))
    rows = read_rows(sys.argv[2:])
    real = [row for row in rows if row["truth"] != "same"]
    oracle = [
        row
        for row in real
        if row["kind"] in ("accumulator begins with another value", "other changed", "cast lost")
    ]
    in_kernels = [row for row in real if not row["kind"].startswith("launcher")]
    masks = [row for row in real if "mask" in row["kind"]]
    files = {row["file"] for row in rows}
    lines = [
        "# How many mistakes does `cerith check` find?",
        "",
        (
            "`.ci/plants` plants one mistake at a time in kernels of libraries and of language models, and counts the mistakes that `cerith "
            "check` reports with the reference alone. A mistake is found if the changed kernel has a failure that the unmodified kernel does not have: *at* "
            "the line of the mistake, or *caused* by it elsewhere in the kernel. These commands write this report:"
        ),
        "",
        "```sh",
        "CERITH_PLANTS=target/plants .ci/plants/collect.py && .ci/plants/measure.py target/release/cerith --name after --percent 50",
        ".ci/plants/report.py target/release/cerith after > reports/check.md",
        "```",
        "",
        (
            f"{len(real)} mistakes of {len({row['kind'] for row in real})} kinds in {len({(r['file'], r['kernel']) for r in rows})} kernels of "
            f"{len(files)} files. A hash selects the mistakes. Rules of `check` were written after reading misses of the same collection, so "
            "`check` may find fewer mistakes in other kernels."
        ),
        "",
        "| mistakes | found |",
        "|---|---|",
        format_found("all", real),
        format_found(
            "all, except kinds that mostly only an oracle finds", [row for row in real if row not in oracle]
        ),
        format_found("in kernels", in_kernels),
        format_found("in launchers", [row for row in real if row["kind"].startswith("launcher")]),
        format_found("masks and `<=`", masks),
        format_found(
            "all, where the unmodified kernel has no finding and no precondition", select_clean(binary, real)
        ),
        format_found("masks and `<=`, where it has none", select_clean(binary, masks)),
        "",
        "## By kind",
        "",
        *COLUMNS,
        "",
        *write_table(rows),
        "",
        "## Excluded changes",
        "",
        "| kind | changes | reason |",
        "|---|--:|---|",
    ]
    out = collections.Counter(
        (row["kind"], row.get("reason") or REASONS.get(row["kind"], ""))
        for row in rows
        if row["truth"] == "same"
    )
    lines += [f"| {kind} | {count} | {reason} |" for (kind, reason), count in sorted(out.items())]
    lines += [
        "",
        "## The most important misses",
        "",
        *list_misses(real),
        "",
        "## Precision",
        "",
        count_judged(binary),
        "",
        *list_clean(binary, rows),
        "",
        "## Bugs that maintainers have fixed",
        "",
        *list_fixed(),
    ]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
