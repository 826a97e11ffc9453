"""tl.dot of int8 adds to an int32 accumulator with saturation on the tensor cores, and wraps elsewhere."""

import inspect
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(x, y, d, out, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    product = tl.dot(tl.load(x + at), tl.load(y + at), out_dtype=tl.int32)
    tl.store(out + at, tl.load(d + at) + product)


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
pointers = {"x": "*i8", "y": "*i8", "d": "*i32", "out": "*i32"}
compiled = compile_kernel(kernel, pointers, {"N": 32}, num_warps=4)
lines = compiled.asm["ttir"].splitlines()
print("in the source: int32 addition after the product, which wraps")
print("in TTIR:      ", next(line for line in lines if "tt.dot" in line).split(" loc(")[0].strip())
instructions = [
    line.split("{")[0].strip() for line in compiled.asm["ptx"].splitlines() if "mma" in line and "s32" in line
]
wrong = any(".satfinite" in instruction for instruction in instructions)
print("expected: mma.sync.….s32.s8.s8.s32 without .satfinite")
print("got:     ", instructions[0])

if "--gpu" in sys.argv:
    import torch

    x = torch.full((32, 32), 3, dtype=torch.int8)
    y = (torch.arange(1024) % 5).reshape(32, 32).to(torch.int8)
    d = torch.full((32, 32), 2147483600, dtype=torch.int32)
    out = torch.zeros_like(d, device="cuda")
    kernel[(1,)](x.cuda(), y.cuda(), d.cuda(), out, 32, num_warps=4)
    expected = d + (x.to(torch.int32) @ y.to(torch.int32))
    wrong = not torch.equal(out.cpu(), expected)
    print("expected:", expected[0, :4].tolist(), " got:", out[0, :4].tolist())

sys.exit(1 if wrong else 0)
