"""Compiles a kernel for each operation to PTX for sm_80, and writes `golden/operations.jsonl.gz`.

    python operations.py operations.jsonl.gz      with the toolchain of Triton 3.9.0; no GPU is needed

A GPU's results of these operations are in `snapshots/tile/h200-*.txt`; `it/operations.rs` compares them. The operations
are those of `harness/tile/tests/h200.py`, and the other functions in the tables.
"""

import gzip
import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SNAPSHOTS = HERE.parents[2] / "snapshots/tile"


def load_module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


H200 = load_module(HERE.parents[2] / "harness/tile/tests/h200.py")
MATH = ("exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "erf", "floor", "ceil")
INFIX = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def list_operations():
    """Kind, operation, dtype of the operands, of the result, expression: those that the tables have results of."""
    known = {}
    for kind, name, of, to, expression in H200.list_operations():
        known[kind, name, of, to] = expression
    # The tables have the language's own, which keep subnormal numbers, before the library's.
    known["binary", "div_rn", "f32", "f32"] = "tl.div_rn(a, b)"
    known["unary", "sqrt_rn", "f32", "f32"] = "tl.sqrt_rn(a)"
    for of in H200.DTYPES:
        for name, sign in INFIX.items():
            known.setdefault(("binary", name, of, of), f"a {sign} b")
        for name, sign in COMPARISONS.items():
            known.setdefault(("compare", name, of, "i1"), f"a {sign} b")
        for name in ("max", "min"):
            known.setdefault(("binary", name, of, of), f"tl.{name}imum(a, b)")
        known.setdefault(("binary", "mulhi", of, of), "tl.umulhi(a, b)")
        known.setdefault(("unary", "abs", of, of), "tl.abs(a)")
        known.setdefault(("unary", "neg", of, of), "-a")
        known.setdefault(("unary", "not", of, of), "~a")
        known.setdefault(("ternary", "fma", of, of), "tl.fma(a, b, c)")
        for name in MATH:
            known.setdefault(("unary", name, of, of), f"tl.{name}(a)")
        for name in (
            "tan",
            "asin",
            "acos",
            "atan",
            "sinh",
            "cosh",
            "tanh",
            "expm1",
            "log1p",
            "log10",
            "trunc",
            "round",
            "rint",
        ):
            known.setdefault(("unary", name, of, of), f"libdevice.{name}(a)")
        for name in ("pow", "atan2", "copysign"):
            known.setdefault(("binary", name, of, of), f"libdevice.{name}(a, b)")
    for table in ("h200-3.9.0.txt", "h200-more-3.9.0.txt"):
        for line in (SNAPSHOTS / table).read_text().splitlines():
            words = line.split(" ")
            key = tuple(words[1:5])
            if words[0] == "result" and key in known:
                yield (*key, known.pop(key))


def main(path):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
    table = H200.read_operands()
    with gzip.open(path, "wt") as out, tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        for nth, (kind, name, of, to, expression) in enumerate(list_operations()):
            lanes = len(H200.operand_columns(table, kind, of)[0])
            block = 1 << (lanes - 1).bit_length()
            file = Path(folder, f"k{nth}.py")
            file.write_text(H200.kernel_text(kind if kind != "compare" else "binary", expression))
            signature = {part: "*" + H200.DTYPES[of][0] for part in ("p", "q", "r")}
            signature["out"] = "*" + H200.DTYPES[to][0]
            try:
                source = ASTSource(load_module(file).k, {**signature, "N": "constexpr"}, {(4,): block})
                kernel = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 4})
            except Exception as error:  # noqa: BLE001 (whatever a compiler raises: the target lacks the operation)
                print(kind, name, of, to, type(error).__name__, file=sys.stderr)
                continue
            ptx = "\n".join(
                line
                for line in kernel.asm["ptx"].splitlines()
                if line.strip() and not line.strip().startswith("//")
            )
            entry = {
                "kind": kind,
                "name": name,
                "of": of,
                "to": to,
                "shared": kernel.metadata.shared,
                "ptx": ptx,
            }
            out.write(json.dumps(entry) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
