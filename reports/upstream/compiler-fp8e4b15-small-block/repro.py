"""Blocks of fewer than four elements can't be cast to fp8e4b15."""

import inspect
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(tl.float8e4b15).to(tl.float16))


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
print("expected: blocks of 1, 2 and 4 elements compile")
failed = []
for n in (1, 2, 4):
    try:
        compile_kernel(kernel, {"x": "*fp16", "out": "*fp16"}, {"N": n})
        print("got: a block of", n, "compiles")
    except Exception as error:
        failed.append(n)
        print("got: a block of", n, "fails:", type(error).__name__, error)
sys.exit(1 if failed else 0)
