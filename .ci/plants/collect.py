"""Collect kernels from fetched snapshots: one file each, with their provenance."""

from __future__ import annotations

import ast
import json
import os
import random
import re
import subprocess
from pathlib import Path
from typing import Any

MIRROR = Path(os.environ.get("CERITH_MIRROR", "target/mirror"))
HERE = Path(os.environ.get("CERITH_PLANTS", "target/plants"))
# source, pattern of paths, files for `kernels`, files for `more`, written by
SOURCES: list[tuple[str, str, int, int, str]] = [
    ("triton-lang+triton-cpu", r"^python/tutorials/0[1-9]-(?!.*cpu).*\.py$", 8, 0, "people"),
    ("linkedin+Liger-Kernel", r"^src/liger_kernel/ops/[^/]*\.py$", 16, 40, "people"),
    ("BobMcDear+attorch", r"^attorch/.*\.py$", 10, 10, "people"),
    ("unslothai+unsloth", r"^unsloth/kernels/.*\.py$", 6, 20, "people"),
    ("thunlp+TritonBench", r"^data/TritonBench_G_v1/.*\.py$", 16, 60, "people and LLMs"),
    ("fla-org+flash-linear-attention", r"^fla/(ops|modules)/.*\.py$", 10, 40, "people"),
    ("FlagOpen+FlagGems", r"^src/flag_gems/(ops|fused)/.*\.py$", 14, 60, "people"),
    ("AlibabaPAI+FLASHNN", r"^flashnn/.*\.py$", 6, 10, "people"),
    ("ModelTC+lightllm", r"^lightllm/.*triton.*\.py$|^lightllm/.*kernel.*\.py$", 10, 40, "people"),
    ("pytorch-labs+applied-ai", r"^kernels/triton/.*\.py$", 8, 10, "people"),
    ("meta-pytorch+tritonbench", r"^tritonbench/operators/.*kernels?\.py$|.*/tutorial\.py$", 8, 20, "people"),
    ("state-spaces+mamba", r"^mamba_ssm/ops/triton/.*\.py$", 6, 20, "people"),
    ("facebookresearch+xformers", r"^xformers/.*\.py$", 3, 5, "people"),
    ("bitsandbytes-foundation+bitsandbytes", r"^bitsandbytes/.*\.py$", 3, 5, "people"),
    ("mobiusml+gemlite", r"^gemlite/.*\.py$", 2, 10, "people"),
    ("Dao-AILab+flash-attention", r"^flash_attn/.*\.py$", 4, 5, "people"),
    ("stackav-oss+conch", r"^conch/kernels/.*\.py$", 8, 20, "people"),
    ("cuda-mode+lectures", r"^lecture_.*\.py$", 5, 5, "people and Inductor"),
    ("gpu-mode+reference-kernels", r"^problems/.*\.py$", 3, 5, "people"),
    ("InternLM+lmdeploy", r"^lmdeploy/pytorch/kernels/.*\.py$", 8, 40, "people"),
    ("shawntan+scattermoe", r"^scattermoe/kernels/.*\.py$", 2, 3, "people"),
    ("stanford-futuredata+stk", r"^stk/.*\.py$", 1, 3, "people"),
    ("dame-cell+Triformer", r"^triformer/.*\.py$", 5, 10, "people"),
    ("dluo96+triton-kernels", r".*\.py$", 6, 10, "people"),
    ("zinccat+TritonTrace", r"^original/level2/.*\.py$", 8, 20, "Inductor"),
    ("Alisehen+LLMKernel", r"^results/level[12]/.*\.py$", 36, 60, "an LLM"),
    ("RightNow-AI+autokernel", r"^kernels/.*\.py$", 8, 5, "an LLM"),
    (
        "ianbarber+kernelbench-agents-vs-compile",
        r"^(agent_loop|e2e)/.*(candidate|kernels/.*)\.py$",
        8,
        10,
        "LLMs",
    ),
    ("mantuoluozk+kernelswift-2026-triton-kernels", r"^platforms/.*solution\.py$", 6, 10, "an LLM"),
]


def run_git(repo: Path, *args: str) -> str:
    return subprocess.run(["git", "-C", str(repo), *args], capture_output=True, text=True, check=False).stdout


def kernels_of(text: str) -> list[str]:
    """The functions of `text` with a decorator that is `jit` or ends in it, and that store something."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        names = [ast.unparse(d) for d in node.decorator_list]
        stores = re.search(r"\b(store|atomic_\w+)\(", ast.unparse(node))
        if any(re.search(r"(^|\.)(jit)\b", n) for n in names) and stores:
            found.append(node.name)
    return found


ALONE = {
    "zinccat+TritonTrace",
    "Alisehen+LLMKernel",
    "triton-lang+triton-cpu",
    "thunlp+TritonBench",
    "cuda-mode+lectures",
    "gpu-mode+reference-kernels",
    "ianbarber+kernelbench-agents-vs-compile",
}


def copy_tree(repo: Path, into: Path, top: str) -> None:
    """The other Python files of the package, for imports."""
    into.mkdir(parents=True, exist_ok=True)
    names = run_git(repo, "ls-tree", "-r", "--name-only", "HEAD", *([] if top == "*" else [top])).splitlines()
    for name in names:
        if name.endswith(".py") and "test" not in name and not (into / name).exists():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            (into / name).write_text(run_git(repo, "show", f"HEAD:{name}"))


def main() -> None:
    rows: list[dict[str, Any]] = []
    for source, pattern, few, many, by in SOURCES:
        repo = MIRROR / source / "repo"
        commit = run_git(repo, "rev-parse", "HEAD").strip()
        hits = run_git(repo, "grep", "-l", r"jit\b", "HEAD", "--", "*.py").splitlines()
        paths = sorted(h.removeprefix("HEAD:") for h in hits)
        paths = [p for p in paths if re.match(pattern, p) and "/test" not in p]
        if source.startswith("Alisehen"):  # the last attempt at each problem
            paths = list({p.split("/")[2]: p for p in paths}.values())
        if source.startswith("zinccat"):  # one kernel of each problem
            paths = list({p.split("/")[2]: p for p in paths}.values())
        random.Random(1).shuffle(paths)
        first = second = 0
        for path in paths:
            if first >= few and second >= many:
                break
            text = run_git(repo, "show", f"HEAD:{path}")
            names = kernels_of(text)
            if not names:
                continue
            small = len(names) <= 4 and text.count("\n") <= 420
            if first < few and small:
                kind, first = "kernels", first + 1
            elif second < many:
                kind, second = "more", second + 1
            else:
                continue
            target = HERE / kind / source / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            rows.append(
                {
                    "file": str(target.relative_to(HERE)),
                    "repository": source.replace("+", "/", 1),
                    "path": path,
                    "commit": commit,
                    "by": by,
                    "kernels": names,
                }
            )
        if source not in ALONE:  # what kernels import
            top = pattern.split("/")[0].lstrip("^")
            for kind, wanted in (("kernels", first), ("more", second)):
                if wanted:
                    copy_tree(repo, HERE / kind / source, top if re.fullmatch(r"\w+", top) else "*")
        print(source, first, second)
    with open(HERE / "provenance.jsonl", "w") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    for kind in ("kernels", "more"):
        chosen = [r for r in rows if r["file"].startswith(kind + "/")]
        print(
            kind,
            len(chosen),
            "files",
            sum(len(r["kernels"]) for r in chosen),
            "kernels",
            len({r["repository"] for r in chosen}),
            "sources",
        )


if __name__ == "__main__":
    main()
