"""A pipelined loop loads an address before the store that precedes the load in the program (triton#8259)."""

import inspect
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(buffer, difference, rows, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    for row in tl.range(0, rows, num_stages=2, loop_unroll_factor=1):
        for column in tl.range(0, COLUMNS, BLOCK, num_stages=2, loop_unroll_factor=2, flatten=True):
            offsets = row * COLUMNS + column + tl.arange(0, BLOCK)
            values = (offsets + row).to(tl.float32)
            tl.store(buffer + offsets, values)
            tl.store(difference + offsets, tl.load(buffer + offsets) - values)


def compile_kernel(fn, arguments, constants, capability=90, **options):
    """Compiles for an NVIDIA GPU without having one."""
    if "constexprs" in inspect.signature(ASTSource).parameters:  # Triton 3.3 and later
        signature = {name: arguments.get(name, "constexpr") for name in fn.arg_names}
        constants = {(fn.arg_names.index(name),): value for name, value in constants.items()}
        source = ASTSource(fn, signature, constexprs=constants)
    else:
        source = ASTSource(fn, arguments, constants)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)


print("Triton", triton.__version__)
arguments = {"buffer": "*fp32", "difference": "*fp32", "rows": "i32"}
compiled = compile_kernel(kernel, arguments, {"COLUMNS": 64, "BLOCK": 16})
lines = [line.split(" loc(")[0].strip() for line in compiled.asm["ttgir"].splitlines()]
accesses = [
    line for line in lines if line.startswith("tt.store") or "async_copy_global" in line or "tt.load" in line
]
wrong = not accesses[0].startswith("tt.store")
print("expected: the first access to `buffer` is a store, as in the program")
print("got:", *accesses[:4], sep="\n  ")

if "--gpu" in sys.argv:
    import torch

    buffer = torch.zeros((4, 64), device="cuda")
    difference = torch.ones_like(buffer)
    kernel[(1,)](buffer, difference, 4, 64, 16)
    wrong = bool(difference.any())
    print("expected: differences of 0, got:", difference.unique().tolist())

sys.exit(1 if wrong else 0)
