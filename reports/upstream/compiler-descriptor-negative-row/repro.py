"""A descriptor store that begins before the first row traps on the GPU; a load there is filled with zeros."""

import inspect
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(desc, x, row, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    desc.store([row, 16], tl.load(x + rows[:, None] * N + columns[None, :]))


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

    y = torch.ones((6, 32), device="cuda")
    x = torch.arange(64, dtype=torch.float32, device="cuda")
    kernel[(1,)](TensorDescriptor.from_tensor(y, [4, 16]), x, -2, 4, 16)
    expected = torch.ones((6, 32))
    expected[:2, 16:] = torch.arange(32, 64).reshape(2, 16)
    print("expected: rows 0 and 1 are stored, rows before the tensor are ignored")
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        print("got:", str(error).splitlines()[0])
        return 1
    return 0 if torch.equal(y.cpu(), expected) else 1


print("Triton", triton.__version__)
compiled = compile_kernel(
    kernel, {"desc": "tensordesc<fp32[4, 16]>", "x": "*fp32", "row": "i32"}, {"M": 4, "N": 16}
)
lines = compiled.asm["ptx"].splitlines()
print("compiled to:", next(line.strip() for line in lines if "cp.async.bulk.tensor" in line))
if "--gpu" not in sys.argv:
    print("the trap needs a GPU of sm_90 or newer: run with --gpu")
    sys.exit(2)
sys.exit(run())
