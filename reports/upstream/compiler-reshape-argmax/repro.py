"""tl.argmax of a reshaped tile returns a wrong index, because the compiler lets the reshape reorder elements."""

import inspect
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    tile = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out, tl.argmax(tl.reshape(tile, [M * N]), axis=0))


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
compiled = compile_kernel(kernel, {"x": "*i32", "out": "*i32"}, {"M": 16, "N": 16})
reshape = next(line for line in compiled.asm["ttir"].splitlines() if "tt.reshape" in line)
wrong = "allow_reorder" in reshape.replace("{allow_reorder = false}", "")  # written so up to 3.1
print("expected: a reshape that keeps the order of elements, since tl.reshape has can_reorder=False")
print("got:     ", reshape.split(" loc(")[0].strip())

if "--gpu" in sys.argv:
    import torch

    x = (torch.arange(256, dtype=torch.int32) * 389 + 77) % 1009
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    kernel[(1,)](x.cuda(), out, 16, 16)
    print("expected index:", x.argmax().item(), " got index:", out.item())
    wrong = x.argmax().item() != out.item()

sys.exit(1 if wrong else 0)
