"""With one column, the sums of a batch of products share registers."""

import inspect
import re
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

BATCH = 2


@triton.jit
def kernel(a, b, out, B: tl.constexpr):
    i = tl.arange(0, B)[:, None, None]
    m = tl.arange(0, 16)
    x = tl.load(a + i * 256 + m[None, :, None] * 16 + m[None, None, :])
    y = tl.load(b + i * 16 + m[None, :, None] + tl.arange(0, 1)[None, None, :])
    tl.store(out + i * 16 + m[None, :, None] + tl.arange(0, 1)[None, None, :], tl.dot(x, y))


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
compiled = compile_kernel(kernel, {"a": "*fp16", "b": "*fp16", "out": "*fp32"}, {"B": BATCH}, num_warps=1)
sums = [
    set(found.split(", ")) for found in re.findall(r"mma\.sync\S+\s+\{ ([^}]*?) *\}", compiled.asm["ptx"])
]
shared = set.intersection(*sums)
print(f"expected: {BATCH} products, and no register in the sums of both")
print(f"got:      {len(sums)} products, and {', '.join(sorted(shared)) or 'no register'} in the sums of both")
wrong = bool(shared)

if "--gpu" in sys.argv:
    import torch

    a = torch.ones((BATCH, 16, 16), dtype=torch.float16, device="cuda")
    b = torch.ones((BATCH, 16, 1), dtype=torch.float16, device="cuda")
    out = torch.zeros((BATCH, 16, 1), device="cuda")
    kernel[(1,)](a, b, out, BATCH, num_warps=1)
    print("expected: 16 everywhere;  got:", out[:, :, 0].tolist())
    wrong = not torch.equal(out, torch.full_like(out, 16.0))

sys.exit(1 if wrong else 0)
