"""Writes the type that Triton's compiler gives each expression of a list, or that it rejects it.

Run by hand, in an environment with the Triton whose rules are wanted; no GPU is needed:

    python functions.py functions_3.9.0.json
    python functions.py functions_3.6.0.json functions_3.9.0.json
    python functions.py descriptors_3.9.0.json
    python functions.py libdevice_3.9.0.json

With a second file, only what differs from it is written. The list is the text file of the same name, without the version:
`functions.txt`, `descriptors.txt`, `libdevice.txt`. An expression is evaluated in a kernel whose names the list sets up in
its first lines, those that are indented.
"""

import importlib.util
import inspect
import json
import os
import re
import sys
import tempfile
import warnings

import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.compiler import ASTSource
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure
from triton.runtime import driver

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = {"pf": "*fp32", "ph": "*fp16", "pb": "*bf16", "pi": "*i32", "pl": "*i64", "pc": "*i8", "pu": "*u8", "p1": "*i1",
         "pd": "*fp64", "p8": "*fp8e4nv", "s": "i32", "w": "i64", "f": "fp32", "b": "i1"}


class Driver:
    """Says that there is an H100, to functions that ask."""

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)


def main():
    warnings.simplefilter("ignore")
    driver.set_active(Driver())
    name = os.path.basename(sys.argv[1]).rsplit("_", 1)[0]
    with open(os.path.join(HERE, f"{name}.txt")) as lines:
        lines = [line.rstrip("\n") for line in lines]
    setup = [line for line in lines if line.startswith("    ")]
    expressions = [line for line in lines if line and not line.startswith((" ", "#"))]
    text = "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n\n\n"
    text += "@triton.jit\ndef first(a, b):\n    return a\n\n\n@triton.jit\ndef add(a, b):\n    return a + b\n\n\n"
    text += "@triton.jit\ndef halve(a, b):\n    return a / b\n\n\n"
    for nth, expression in enumerate(expressions):
        text += f"@triton.jit\ndef k{nth}({', '.join(TYPES)}):\n" + "\n".join(setup)
        text += f"\n    r = {expression}\n\n\n"
        text += f"@triton.jit\ndef t{nth}({', '.join(TYPES)}):\n" + "\n".join(setup)
        text += f"\n    r = {expression}\n    tl.static_assert(False, f'TYPE {{tl.constexpr(r.type)}} END')\n\n\n"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernels.py")
        with open(path, "w") as file:
            file.write(text)
        spec = importlib.util.spec_from_file_location("kernels", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        table = {}
        for nth, expression in enumerate(expressions):
            # Once as it is, for the verifier, and once for the type.
            table[expression] = verdict(getattr(module, f"k{nth}"))
            if table[expression] == "compiled":
                table[expression] = verdict(getattr(module, f"t{nth}"))
    if len(sys.argv) > 2:
        with open(sys.argv[2]) as base:
            base = json.load(base)
        table = {key: value for key, value in table.items() if base[key] != value}
    entries = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in table.items()]
    with open(sys.argv[1], "w") as out:
        out.write("{\n" + ",\n".join([f'  "triton": "{triton.__version__}"'] + entries) + "\n}\n")


def verdict(kernel):
    """The verdict of a process of its own, since the compiler of some versions aborts where it should raise."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, compiled(kernel).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer or "rejected"


def compiled(kernel):
    target = GPUTarget("cuda", 90, 32)
    backend = CUDABackend(target)
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = ASTSource(kernel, dict(TYPES))
    # What the versions pass on.
    given = {"target": target, "options": options, "context": context}
    wanted = inspect.signature(source.make_ir).parameters
    codegen = backend.get_codegen_implementation
    given["codegen_fns"] = codegen(options) if inspect.signature(codegen).parameters else codegen()
    if "module_map" in wanted:
        given["module_map"] = backend.get_module_map()
    try:
        module = source.make_ir(**{name: given[name] for name in wanted})
    except CompileTimeAssertionFailure as failure:
        found = re.search("TYPE ([^{]*?) END", str(failure))
        # Extents print as strings, and in 3.1 some shapes as tuples.
        return found.group(1).replace("'", "").replace("(8,)", "[8]") if found else "rejected"
    except (CompilationError, RuntimeError):
        return "rejected"
    return "compiled" if module.verify() else "rejected"


main()
