"""Write `reports/check.md` of what `measure.py` measured: `report.py BINARY NAME… > reports/check.md`.

Each NAME is a NAME.jsonl of `measure.py`; a mistake of several counts once, with the last result. Precision is measured on the unmodified kernels
that BINARY checked, and `JUDGED` has the result of reading their reports.
"""

from __future__ import annotations

import collections
import json
import sys
from pathlib import Path

from measure import HERE, REASONS, Binary, Row, cache_path, digest, list_failures, write_table

# The likely cause of most misses of a kind, from reading the planted changes. Few of them were debugged.
CAUSES = {
    "launcher": "`check` evaluates the launcher of about one kernel in four, and otherwise infers the grid from the kernel, so a "
    "mistake in the launcher changes nothing: a size that comes from `.item()`, a launcher in another file, or an input whose "
    "shape nothing decides.",
    "+ 1 in an index": "The tensor's other accesses are of another shape, or it is one of several that only an index from memory "
    "bounds. Then its size is unknown.",
    "accumulator begins with another value": "Every launch computes the same wrong value: only an oracle sees it.",
    "block's offset lost": "The size of an output depends on the block, so that launches with other blocks are not compared.",
    "block's size lost": "As `block's offset lost`: partial results for each block.",
    "cast lost": "It shows only in a dtype or a size that is not launched.",
    "half of a mask lost": "The grid and the block divide the size that the other half bounds.",
    "loop's bound floored": "Numbers are guessed, so that launches with other blocks are not compared.",
    "mask < made <=": "The bound is a product (`T * C`), or the comparison is of values and not of an index.",
    "mask removed": "The mask was `None` or all on, or the tensor has no other bound.",
    "mask with the wrong size": "The mask is the only bound of the tensor, so that the wrong size is taken for its size.",
    "neighbour's program": "A number is guessed, or the kernel writes partial results.",
    "other changed": "All launches agree, because the block is covered: only an oracle sees it.",
    "other removed": "The launches are not judged, because numbers are guessed.",
    "row and column swapped": "Blocks of the same size hide it, or the kernel does not compile with the guess.",
    "stride lost": "The last stride is lost, and inferred tensors have contiguous rows then.",
    "strides swapped": "The inferred tensor gets the shape that swapped strides suggest.",
    "wrong axis of program_id": "Both axes are named, and their grids have the same number of programs.",
}

# Failures of unmodified kernels: the end of the file's path, the kernel, and the result of reading it.
JUDGED: dict[tuple[str, str], str] = {
    (
        "dluo96+triton-kernels/tk/matmul.py",
        "kernel_matmul_naive",
    ): "true: no mask in m and n, and the launcher allows any size",
    (
        "Alisehen+LLMKernel/results/level2/22_Matmul_Scale_ResidualAdd_Clamp_LogSumExp_Mish/code/kernel_20251215_072637.py",
        "matmul_scale_residual_clamp_kernel",
    ): "false: `GROUP_M` must follow the blocks (a later build does not report it, by its rule; not run)",
    (
        "ianbarber+kernelbench-agents-vs-compile/e2e/kernels/sdpa_prelude_kimi.py",
        "k_rmsnorm_rope_expand_kernel",
    ): "false: the inferred shape of `k_out_ptr` is too small (a precondition in a later build, by its rule; not run)",
}


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
    lines = []
    for file, kernel in kernels:
        path = Path(file)
        name = str(path.relative_to(HERE / "kernels"))
        stored = cache_path(digest("check", binary.hash, name, path.read_bytes(), kernel))
        if not stored.exists():
            continue
        said = json.loads(stored.read_text())
        if said["rc"] == 124:
            continue
        count["all"] += 1
        failures = list_failures(said, kernel)
        conditions = [one for one in failures if "unless" in one]
        count["with a precondition"] += bool(conditions)
        count["with a finding"] += len(conditions) < len(failures)
        for one in failures:
            judged = JUDGED.get((name, kernel), "not read")
            place = one.get("place", "").rsplit(":", 1)[-1]
            lines.append(f"| {name}:{place} | `{kernel}` | {one['kind']} | {judged} |")
    head = [
        (
            f"{count['all']} unmodified kernels were checked: {count['with a finding']} have a finding and {count['with a precondition']} a "
            "precondition."
        ),
        "",
        "| file | kernel | kind | read by hand |",
        "|---|---|---|---|",
    ]
    return head + lines


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
            "`.ci/plants` plants one mistake at a time in kernels of libraries and of language models, and counts those that `cerith check` "
            "reports with the reference alone. A mistake is found if the report fails where the unmodified kernel's does not: *at* its line, or "
            "*caused* elsewhere in the kernel. Made with"
        ),
        "",
        "```sh",
        "CERITH_PLANTS=target/plants .ci/plants/collect.py && .ci/plants/measure.py target/release/cerith --name after --percent 50",
        ".ci/plants/report.py target/release/cerith after > reports/check.md",
        "```",
        "",
        (
            f"{len(real)} mistakes of {len({row['kind'] for row in real})} kinds in {len({(r['file'], r['kernel']) for r in rows})} kernels of "
            f"{len(files)} files."
        ),
        "",
        "| mistakes | found |",
        "|---|---|",
        f"| all | {format_share(sum(map(is_found, real)), len(real))} |",
        f"| in kernels | {format_share(sum(map(is_found, in_kernels)), len(in_kernels))} |",
        (
            f"| in kernels, except those that mostly an oracle sees | "
            f"{format_share(sum(is_found(r) for r in in_kernels if r not in oracle), len([r for r in in_kernels if r not in oracle]))} |"
        ),
        f"| masks and `<=` | {format_share(sum(map(is_found, masks)), len(masks))} |",
        "",
        "## By kind",
        "",
        *write_table(rows),
        "",
        "## Removed",
        "",
        "| kind | removed | reason |",
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
        *list_clean(binary, rows),
    ]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
