"""tl.dot with tf32x3, bf16x3 or bf16x6 gives infinity or NaN for finite products of large float32 numbers."""

import inspect
import sys

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(a, b, c, PRECISION: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at), input_precision=PRECISION))


def compile_kernel(fn, arguments, constants, capability=90, **options):
    """Compiles for an NVIDIA GPU without having one."""
    if "constexprs" in inspect.signature(ASTSource).parameters:  # Triton 3.3 and later
        signature = {name: arguments.get(name, "constexpr") for name in fn.arg_names}
        constants = {(fn.arg_names.index(name),): value for name, value in constants.items()}
        source = ASTSource(fn, signature, constexprs=constants)
    else:
        source = ASTSource(fn, arguments, constants)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)


def round_to_nearest(number, bits):
    """Rounds a float32 to nearest even, with `bits` fewer bits in the significand."""
    pattern = int(np.float32(number).view(np.uint32))
    pattern += (1 << (bits - 1)) - 1 + (pattern >> bits & 1)
    return np.uint32(pattern >> bits << bits).view(np.float32)


print("Triton", triton.__version__)
wrong = False
largest, factor = np.finfo(np.float32).max, np.float32(2.0**-10)
for precision, marker, bits in (("tf32x3", "cvt.rna.tf32.f32", 13), ("bf16x3", "arith.truncf", 16)):
    try:
        compiled = compile_kernel(
            kernel, {"a": "*fp32", "b": "*fp32", "c": "*fp32"}, {"PRECISION": precision, "N": 16}
        )
    except Exception as error:
        print(precision, "is rejected:", str(error).splitlines()[-1])
        continue
    lines = [
        line.split(" : tensor")[0].split(" {constraints")[0].strip()
        for line in compiled.asm["ttgir"].splitlines()
    ]
    splits = [line for line in lines if marker in line or "arith.subf" in line]
    big = round_to_nearest(largest, bits)
    print(f"{precision}: the larger part of {largest} is", big)
    print(
        "expected: a finite product,",
        16 * float(largest) * float(factor),
        "for K=16; the larger part of a finite number is finite",
    )
    print("got:", *splits[:2], sep="\n  ")
    wrong = wrong or any(marker in line for line in splits)

if "--gpu" in sys.argv:
    import torch

    a = torch.full((16, 16), float(largest), device="cuda")
    b = torch.full((16, 16), 2.0**-10, device="cuda")
    wrong = False
    for precision in ("tf32x3", "bf16x3", "bf16x6"):
        c = torch.zeros_like(a)
        kernel[(1,)](a, b, c, precision, 16)
        print(precision, "expected:", 16 * float(largest) * float(factor), " got:", c[0, 0].item())
        wrong = wrong or not bool(torch.isfinite(c).all())

sys.exit(1 if wrong else 0)
