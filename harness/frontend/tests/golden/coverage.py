"""Writes which dtypes Triton's compiler takes for each public name, asked with the kernels of `cerith coverage`.

    python coverage.py names | cargo run -p cerith-frontend --example probes 3.9.0 | python coverage.py verdicts > coverage_3.9.0.txt

Run by hand, in an environment with the Triton whose rules are wanted; no GPU is needed. A line is `name: dtypes`; a name
without values of a dtype is asked about with i32 alone. Only the compiler's front is asked: its IR has to verify.
"""

import importlib.util
import inspect
import json
import os
import sys
import tempfile

import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.compiler import ASTSource
from triton.language import core
from triton.runtime import driver

DTYPES = {
    "i1": "i1",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
    "u8": "u8",
    "u16": "u16",
    "u32": "u32",
    "u64": "u64",
    "f16": "fp16",
    "bf16": "bf16",
    "f32": "fp32",
    "f64": "fp64",
    "fp8e4nv": "fp8e4nv",
    "fp8e5": "fp8e5",
    "fp8e4b15": "fp8e4b15",
}


class Driver:
    """Says that there is an H100, to functions that ask."""

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)


def names():
    for name in dir(tl):
        if not name.startswith("_"):
            print(f"tl.{name}")
    for owner in ("tensor", "tensor_descriptor"):
        for name in dir(getattr(core, owner, object)):
            print(f"{owner}.{name}")


def accepted(kernel, dtype):
    target = GPUTarget("cuda", 90, 32)
    backend = CUDABackend(target)
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = ASTSource(kernel, {"p": f"*{DTYPES[dtype]}"})
    given = {"target": target, "options": options, "context": context}
    wanted = inspect.signature(source.make_ir).parameters
    codegen = backend.get_codegen_implementation
    given["codegen_fns"] = codegen(options) if inspect.signature(codegen).parameters else codegen()
    if "module_map" in wanted:
        given["module_map"] = backend.get_module_map()
    try:
        return source.make_ir(**{name: given[name] for name in wanted}).verify()
    except Exception:
        return False


def verdicts():
    driver.set_active(Driver())
    with tempfile.TemporaryDirectory() as folder:
        for nth, line in enumerate(sys.stdin):
            row = json.loads(line)
            path = os.path.join(folder, f"probe{nth}.py")
            with open(path, "w") as file:
                file.write(row["text"])
            spec = importlib.util.spec_from_file_location(f"probe{nth}", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            dtypes = list(DTYPES) if row["dtypes"] else ["i32"]
            taken = [""] * len(dtypes)
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                # In a process of its own: the compiler may abort. What was said until then counts.
                for stream in (1, 2):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
                for dtype in dtypes:
                    os.write(writer, b"1" if accepted(module.probe, dtype) else b"0")
                os._exit(0)
            os.close(writer)
            with os.fdopen(reader) as pipe:
                said = pipe.read()
            os.waitpid(child, 0)
            taken = [dtype for dtype, answer in zip(dtypes, said) if answer == "1"]
            print(f"{row['name']}: {' '.join(taken)}{' ?' if len(said) < len(dtypes) else ''}", flush=True)


if __name__ == "__main__":
    print(f"# {triton.__version__}", file=sys.stderr)
    {"names": names, "verdicts": verdicts}[sys.argv[1]]()
