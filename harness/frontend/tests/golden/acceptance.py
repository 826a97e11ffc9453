"""Writes which of the programs of `programs_3.9.0.txt` and `surface.py` each Triton compiles, passes included.

    python acceptance.py ask ANSWERS [A B]    with each Triton's own Python: appends to ANSWERS, goes on where it ended;
                                              leaves out what the answers A and B of other versions agree on, but for
                                              features of the language
    python acceptance.py merge ANSWERS… > acceptance.txt

No GPU is needed: everything but `ptxas` is run, for an H100. The kernel is `k(p, n, C: tl.constexpr)` with `n` 5, `C` 3
and `p` a tensor of `i32`, or of each of the dtypes behind the `@@` of an entry's name. Of the definitions in `programs.py`
an entry gets those that it names; an entry that defines `k` itself is a whole file. An entry without a text is named by
it; the text of one that begins with `programs/` is in `programs_3.9.0.txt`.

A verdict is a letter: `a` accepted, `r` rejected by the compiler's front, `p` rejected by its passes, `c` a compiler
that died, `t` one that took longer than a minute. Behind `---` stand the letters of each dtype and the version that they
hold from, behind `?` the versions that were not asked. Where versions differ, or passes refuse, the lines below say why (a dtype's reason, in the first version that has
it), and at which line, counted from the end.
"""

import hashlib
import importlib.util
import json
import linecache
import os
import re
import signal
import sys
import tempfile
import textwrap
import warnings
from pathlib import Path

import surface

HERE = Path(__file__).parent
VERSIONS = ["3.0.0", "3.1.0", "3.2.0", "3.3.1", "3.4.0", "3.5.1", "3.6.0", "3.7.1", "3.8.0", "3.9.0"]
TORCH_NAMES = {
    "i1": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "fp8e4nv": "float8e4nv",
    "fp8e5": "float8e5",
    "fp8e4b15": "float8e4b15",
}
# Programs that one process compiles before it is replaced.
BATCH = 40
SECONDS = 60


class DType:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"torch.{self.name}"


# One object each, as torch has it: launchers know dtypes by their addresses.
DTYPES = {name: DType(torch_name) for name, torch_name in TORCH_NAMES.items()}


class Tensor:
    def __init__(self, dtype):
        self.dtype = DTYPES[dtype]

    def data_ptr(self):
        return 64


def entries():
    """Each program's name, dtypes, own text (none where it is elsewhere) and whole text."""
    chunks = HERE.joinpath("programs.py").read_text().split("\n\n\n")
    head, kernel = chunks[0], chunks[-1]
    defined = {re.search(r"^(?:def|class) (\w+)", chunk, re.M)[1]: chunk for chunk in chunks[1:-1]}

    def whole(body):
        wanted, seen = [body], set()
        while wanted:
            for word in re.findall(r"\w+", wanted.pop()):
                if word in defined and word not in seen:
                    seen.add(word)
                    wanted.append(defined[word])
        parts = [head] + [chunk for word, chunk in defined.items() if word in seen]
        is_file = re.search(r"^(def k\(|k = )", body, re.M)
        parts.append(body if is_file else kernel + textwrap.indent(body, "    ", lambda line: True))
        return "\n\n\n".join(parts)

    for entry in re.split(r"^=== ", HERE.joinpath("programs_3.9.0.txt").read_text(), flags=re.M)[1:]:
        name, rest = entry.split("\n", 1)
        yield f"programs/{name}", ["i32"], "", whole(rest.split("--- ")[0])
    for name, dtypes, text in surface.entries():
        yield name, dtypes.split() or ["i32"], "" if text == name + "\n" else text, whole(text)


def line_of(error, source):
    """The line of the program that the innermost error points at, counted from the end; `?` where there is none."""
    total = source.count("\n")
    if isinstance(error, SyntaxError):
        return total - (error.lineno or 0)
    line = "?"
    while error is not None:
        text, node = getattr(error, "src", None), getattr(error, "node", None)
        for text in (text, textwrap.indent(text, "    ")) if text and node is not None else ():
            if text in source:
                line = total - source[: source.index(text)].count("\n") - node.lineno
        error = error.__cause__
    return line


class Enough(Exception):
    """The rest of the compiler has nothing to say."""


def compile_program(source, dtype, folder, stage):
    path = Path(folder, "program.py")
    path.write_text(source)
    linecache.clearcache()
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    # What a single expression gives and nothing uses, passes drop.
    stage[:] = ["r", source.rstrip().rsplit("\n", 1)[1].startswith("    r: tl.constexpr = ") and "k(p, n, C: tl.constexpr):\n    r: " in source]
    try:
        spec.loader.exec_module(module)
        if hasattr(module.k, "warmup"):
            module.k.warmup(Tensor(dtype), 5, C=3, grid=(1,))
        else:
            # What `@triton.heuristics` makes until 3.3 has no other way.
            module.k.run(Tensor(dtype), 5, C=3, grid=(1,), warmup=True)
    except Enough:
        pass
    except BaseException as error:
        line = line_of(error, source)
        while error.__cause__ is not None:
            error = error.__cause__
        text = re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")
        # A compilation error says where first and what last.
        text = re.sub(r"^CompilationError: at .*\^ ", "", text)
        text = re.sub(r"'/[^']*'", "'…'", text)
        text = re.sub(r"0x[0-9a-f]{6,}", "0x…", text)
        return stage[0], line, text[:90]
    return "a", "?", ""


def settled(files):
    """Programs of which all of these answers say the same."""
    said = {}
    for file in files:
        for row in map(json.loads, Path(file).read_text().splitlines()):
            said.setdefault((row["dtype"], row["text"]), []).append(row["verdict"])
    return {key for key, verdicts in said.items() if len(verdicts) == len(files) and len(set(verdicts)) == 1}


def ask(out, around):
    import triton

    sys.path.insert(0, str(HERE.parents[2] / "worker"))
    from cerith_worker import driver

    driver.show_triton_a_torch()
    triton.runtime.driver.set_active(driver.FakeDriver())
    from triton.backends.nvidia.compiler import CUDABackend
    from triton.compiler import ASTSource

    # ptxas is the target's, and slow.
    CUDABackend.make_cubin = lambda *_: b""
    stage = ["r", False]
    make_ir = ASTSource.make_ir

    def noting(self, *given, **named):
        module = make_ir(self, *given, **named)
        if not module.verify():
            raise RuntimeError("the IR does not verify")
        if stage[1]:
            raise Enough
        stage[0] = "p"
        return module

    ASTSource.make_ir = noting
    warnings.simplefilter("ignore")
    known = set()
    if Path(out).exists():
        for line in Path(out).read_text().splitlines():
            row = json.loads(line)
            known.add((row["dtype"], row["text"]))
    skipped = settled(around) if around else set()
    always = {name for name, *_ in entries() if name.startswith("programs/")} | surface.of_the_language()
    asked = [(name, dtype, text) for name, dtypes, _, text in entries() for dtype in dtypes]
    asked = [row for row in asked if (row[1], hash_of(row[2])) not in known]
    asked = [row for row in asked if (row[1], hash_of(row[2])) not in skipped or row[0] in always]
    print(f"{triton.__version__}: {len(asked)} to ask", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder, open(out, "a") as answers:
        os.environ["TRITON_CACHE_DIR"] = str(Path(folder, "cache"))
        errors = Path(folder, "errors")
        errors.touch()
        at = 0
        while at < len(asked):
            batch = asked[at : at + BATCH]
            said, status = compile_batch(batch, folder, errors, stage)
            for name, dtype, text, (letter, line, reason) in said:
                row = {"version": triton.__version__, "name": name, "dtype": dtype, "text": hash_of(text)}
                answers.write(json.dumps(row | {"verdict": letter, "line": line, "reason": reason}) + "\n")
            at += len(said)
            if len(said) < len(batch):
                name, dtype, text = asked[at]
                killed = status & 127
                letter = "t" if killed == signal.SIGALRM else "c"
                row = {"version": triton.__version__, "name": name, "dtype": dtype, "text": hash_of(text)}
                row |= {"verdict": letter, "line": "?", "reason": f"signal {killed}: {last_error(errors)}"[:90]}
                answers.write(json.dumps(row) + "\n")
                at += 1
            answers.flush()


def compile_batch(batch, folder, errors, stage):
    """What a process of its own says of the programs, until it dies."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        try:
            for name, dtype, text in batch:
                signal.alarm(SECONDS)
                for stream in (1, 2):
                    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
                letter, line, reason = compile_program(text, dtype, folder, stage)
                if letter == "p":
                    reason = last_error(errors) or reason
                os.write(send, (json.dumps([letter, line, reason]) + "\n").encode())
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive) as pipe:
        said = [json.loads(line) for line in pipe if line.endswith("\n")]
    _, status = os.waitpid(child, 0)
    return [(*row, answer) for row, answer in zip(batch, said)], status


def last_error(errors):
    """The first thing that the compiler's passes wrote of an error."""
    for line in errors.read_text(errors="replace").splitlines():
        if "error:" in line or "Assertion" in line or "LLVM ERROR" in line:
            line = line.split("error: ")[-1].split("LLVM ERROR: ")[-1]
            return re.sub(r"^.*Assertion ", "Assertion ", line)[:90]
    return ""


def hash_of(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def merge(files):
    rows = {}
    for file in files:
        for line in Path(file).read_text().splitlines():
            row = json.loads(line)
            rows[row["version"], row["dtype"], row["text"]] = row
    for name, dtypes, own, text in entries():
        words, reasons, before, left_out = [], [], None, []
        for version in VERSIONS:
            found = [rows.get((version, dtype, hash_of(text)), {"verdict": "?", "line": "?", "reason": ""}) for dtype in dtypes]
            letters = "".join(row["verdict"] for row in found)
            if "?" in letters:
                left_out.append(version)
                continue
            if letters != before:
                words.append(f"{letters} {version}")
                before = letters
                for row in found:
                    if row["verdict"] != "a":
                        reason = f"    {row['line']} {row['reason']}"
                        if reason not in reasons:
                            reasons.append(reason)
                        break
        print(f"=== {name}{'' if dtypes == ['i32'] else ' @@ ' + ' '.join(dtypes)}")
        print(f"{own}--- {', '.join(words)}{' ? ' if left_out else ''}{' '.join(left_out)}")
        # Where all versions refuse a program in their fronts, `programs_3.9.0.txt` and common sense say why.
        if len(words) > 1 or set(before or "") & set("pct"):
            for reason in reasons[:2]:
                print(reason[:80].rstrip())


if __name__ == "__main__":
    {"ask": lambda: ask(sys.argv[2], sys.argv[3:]), "merge": lambda: merge(sys.argv[2:])}[sys.argv[1]]()
