"""A descriptor store writes past the tensor's inner extent, up to the next 16 bytes (triton#11583)."""

import inspect
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(desc, M: tl.constexpr, N: tl.constexpr):
    desc.store([0, 0], tl.full((M, N), 7, tl.int8))


def compile_kernel(fn, arguments, constants, capability=90, **options):
    """Compiles for an NVIDIA GPU without having one."""
    if "constexprs" in inspect.signature(ASTSource).parameters:  # Triton 3.3 and later
        signature = {name: arguments.get(name, "constexpr") for name in fn.arg_names}
        constants = {(fn.arg_names.index(name),): value for name, value in constants.items()}
        source = ASTSource(fn, signature, constexprs=constants)
    else:
        source = ASTSource(fn, arguments, constants)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)


def run():
    import torch
    from triton.tools.tensor_descriptor import TensorDescriptor

    storage = torch.zeros((8, 32), dtype=torch.int8, device="cuda")
    kernel[(1,)](TensorDescriptor.from_tensor(storage[:5, :18], [8, 32]), 8, 32)
    expected = torch.zeros((8, 32), dtype=torch.int8)
    expected[:5, :18] = 7
    print(
        "expected bytes written in row 0:",
        int((expected[0] != 0).sum()),
        " got:",
        int((storage[0] != 0).sum()),
    )
    return 0 if torch.equal(storage.cpu(), expected) else 1


print("Triton", triton.__version__)
compiled = compile_kernel(kernel, {"desc": "tensordesc<i8[8, 32]>"}, {"M": 8, "N": 32})
lines = compiled.asm["ptx"].splitlines()
print("compiled to:", next(line.strip() for line in lines if "cp.async.bulk.tensor" in line))
if "--gpu" not in sys.argv:
    print("the stored bytes need a GPU of sm_90 or newer: run with --gpu")
    sys.exit(2)
sys.exit(run())
