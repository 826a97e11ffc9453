"""A conversion of fp8e4b15 to bfloat16 produces float16."""

import inspect
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i).to(tl.bfloat16)
    tl.static_assert(value.dtype == tl.bfloat16, "to(tl.bfloat16) has another dtype")
    tl.store(out + i, value.to(tl.int16, bitcast=True))


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
print("expected: x.to(tl.bfloat16).dtype is bf16")
try:
    compile_kernel(kernel, {"x": "*fp8e4b15", "out": "*i16"}, {"N": 8})
except triton.CompilationError as error:
    print("got:", str(error).splitlines()[-1])
    sys.exit(1)
print("got: bf16")
