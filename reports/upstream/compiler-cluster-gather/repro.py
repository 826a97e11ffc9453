"""tl.gather in a cluster of two blocks reads elements that the other block holds from its own shared memory."""

import inspect
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(x, index, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.gather(tl.load(x + i), tl.load(index + i), 0))


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
compiled = compile_kernel(kernel, {"x": "*fp32", "index": "*i32", "out": "*fp32"}, {"N": 8}, num_ctas=2)
lines = [line.strip() for line in compiled.asm["ptx"].splitlines()]
loads = [line for line in lines if line.startswith("ld.shared")]
wrong = not any("cluster" in line for line in loads)
print(
    "expected: each block holds 4 of 8 elements, so some are read from the other block (ld.shared::cluster)"
)
print("got:", *loads, sep="\n  ")

if "--gpu" in sys.argv:
    import torch

    x = torch.arange(8, dtype=torch.float32)
    index = torch.tensor([3, 0, 7, 3, 1, 1, 6, 5])
    out = torch.full((8,), -1.0, device="cuda")
    kernel[(1,)](x.cuda(), index.int().cuda(), out, 8, num_ctas=2)
    wrong = not torch.equal(out.cpu(), x[index])
    print("expected:", x[index].tolist(), " got:", out.tolist())

sys.exit(1 if wrong else 0)
