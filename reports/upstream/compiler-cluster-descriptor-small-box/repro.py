"""In a cluster, the box of a descriptor is split to fewer than 16 bytes, and the store traps on the GPU."""

import inspect
import re
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(x, out, N: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [N], [1], [N])
    target.store([0], tl.load(x + tl.arange(0, N)))


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
compiled = compile_kernel(kernel, {"x": "*fp16", "out": "*fp16"}, {"N": 8}, num_ctas=2)
ttgir = compiled.asm["ttgir"]
create = next(line for line in ttgir.splitlines() if "tensormap_create" in line)
box = int(re.search(r"%\S+, %\S+, \[%c(\d+)_i32", create).group(1))
print("expected: the innermost box has at least 16 bytes, as cuTensorMapEncodeTiled requires")
print("got: a box of", box, "fp16 elements,", 2 * box, "bytes, from block_shape=[8]")
print(create.split(" : (")[0].strip())
wrong = 2 * box < 16

if "--gpu" in sys.argv:
    import torch

    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    x = torch.arange(8, dtype=torch.float16, device="cuda")
    out = torch.ones_like(x)
    kernel[(1,)](x, out, 8, num_ctas=2)
    torch.cuda.synchronize()  # illegal instruction
    wrong = not torch.equal(x, out)

sys.exit(1 if wrong else 0)
