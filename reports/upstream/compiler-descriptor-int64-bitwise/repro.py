"""Bitwise atomics through a descriptor of int64 trap on the GPU, though the front end accepts them."""

import inspect
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(desc, x, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    desc.atomic_and([0, 0], tl.load(x + rows[:, None] * N + columns[None, :]))


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
accepted = {}
for dtype in ("i32", "u64", "i64"):
    block = f"tensordesc<{dtype}[4, 16]>"
    try:
        compiled = compile_kernel(kernel, {"desc": block, "x": "*" + dtype}, {"M": 4, "N": 16})
    except Exception as error:
        print(f"got: atomic_and of {dtype} is rejected:", str(error).splitlines()[-1])
        continue
    lines = compiled.asm["ptx"].splitlines()
    accepted[dtype] = next(line.strip() for line in lines if "cp.reduce" in line)
    print(f"got: atomic_and of {dtype} compiles to", accepted[dtype])
print("expected: atomic_and of i64 is rejected, or its tensor map has an unsigned element type")
wrong = "i64" in accepted

if "--gpu" in sys.argv:
    import torch
    from triton.tools.tensor_descriptor import TensorDescriptor

    y = torch.full((4, 16), 5, dtype=torch.int64, device="cuda")
    x = torch.full_like(y, 6)
    kernel[(1,)](TensorDescriptor.from_tensor(y, [4, 16]), x, 4, 16)
    torch.cuda.synchronize()  # illegal instruction
    wrong = not bool((y == 4).all())

sys.exit(1 if wrong else 0)
