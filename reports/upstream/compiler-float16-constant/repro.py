"""A number becomes float16 in two roundings, through float32."""

import inspect
import re
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(out, N: tl.constexpr):
    tl.store(out + tl.arange(0, N), tl.full((N,), 1.0004882812509, tl.float16))


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
compiled = compile_kernel(kernel, {"out": "*fp16"}, {"N": 4})
line = next(line for line in compiled.asm["ttir"].splitlines() if "xf16>" in line and "dense" in line)
got = float(re.search(r"dense<(\S+)>", line).group(1))
print("expected: 1.0009765625, the float16 number nearest to 1.0004882812509 (printed as 1.000980e+00)")
print("got:     ", line.split(" loc(")[0].strip())
sys.exit(0 if got > 1.0 else 1)
