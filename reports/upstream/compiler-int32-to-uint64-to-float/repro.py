"""A negative int32 cast to uint64 and then to float32 is converted as a uint32."""

import inspect
import re
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(x, n, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x + at)
    scaled = value.to(tl.uint64) * value.to(tl.float32)
    total = scaled
    turn = 0
    while turn < n:
        total = scaled * total
        turn += 1
    tl.store(out + at, total)


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
compiled = compile_kernel(kernel, {"x": "*i32", "n": "i32", "out": "*fp32"}, {"M": 32, "N": 32}, num_warps=1)
ttir = [line.split(" loc(")[0].strip() for line in compiled.asm["ttir"].splitlines()]
print("TTIR:", *(line for line in ttir if "extsi" in line or "uitofp" in line), sep="\n  ")
conversions = sorted(
    {
        line.split("=", 1)[1].split(",")[0].strip()
        for line in compiled.asm["llir"].splitlines()
        if "uitofp" in line
    }
)
conversions = [re.sub(r"%\S+", "%…", conversion) for conversion in conversions]
wrong = not any("i64" in conversion for conversion in conversions)
print("expected in LLVM IR: uitofp of i64, after sext i32 to i64")
print("got in LLVM IR:     ", conversions[0])

if "--gpu" in sys.argv:
    import torch

    x = torch.arange(-512, 512, dtype=torch.int32).reshape(32, 32) * 1000003
    out = torch.zeros((32, 32), device="cuda")
    kernel[(1,)](x.cuda(), 0, out, 32, 32, num_warps=1)
    bits = x.to(torch.float64)
    unsigned = torch.where(x < 0, bits + 2.0**64, bits).to(torch.float32)
    expected = unsigned * x.to(torch.float32)
    wrong = not torch.equal(out.cpu(), expected)
    print("expected:", expected[0, :2].tolist(), " got:", out[0, :2].tolist())

sys.exit(1 if wrong else 0)
