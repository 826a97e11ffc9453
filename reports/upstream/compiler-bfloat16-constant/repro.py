"""A small number becomes zero as a bfloat16 constant."""

import inspect
import re
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i) * 1e-7)


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
compiled = compile_kernel(kernel, {"x": "*bf16", "out": "*bf16"}, {"N": 4})
line = next(line for line in compiled.asm["ttir"].splitlines() if "arith.constant dense<" in line)
got = float(re.search(r"dense<(\S+)>", line).group(1))
print("expected: the factor 1e-7, which bfloat16 holds as 1.001e-07")
print("got:     ", line.split(" loc(")[0].strip())
wrong = got == 0

if "--gpu" in sys.argv:
    import torch

    x = torch.tensor([1.0, 2.0, -1.0, 1e7], dtype=torch.bfloat16, device="cuda")
    out = torch.zeros_like(x)
    kernel[(1,)](x, out, 4)
    print("expected:", (x * 1e-7).tolist(), " got:", out.tolist())
    wrong = not torch.allclose(out, x * 1e-7)

sys.exit(1 if wrong else 0)
