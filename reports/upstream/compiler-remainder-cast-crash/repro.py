"""A remainder of float16 numbers, computed in float32 and stored as bfloat16, aborts the compiler."""

import inspect
import subprocess
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    remainder = tl.load(x + i).to(tl.float32) % tl.load(y + i).to(tl.float32)
    tl.store(out + i, remainder.to(tl.bfloat16))


def compile_kernel(fn, arguments, constants, capability=90, **options):
    """Compiles for an NVIDIA GPU without having one."""
    if "constexprs" in inspect.signature(ASTSource).parameters:  # Triton 3.3 and later
        signature = {name: arguments.get(name, "constexpr") for name in fn.arg_names}
        constants = {(fn.arg_names.index(name),): value for name, value in constants.items()}
        source = ASTSource(fn, signature, constexprs=constants)
    else:
        source = ASTSource(fn, arguments, constants)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)


if "--child" in sys.argv:
    compile_kernel(kernel, {"x": "*fp16", "y": "*fp16", "out": "*bf16"}, {"N": 64})
    sys.exit(0)

print("Triton", triton.__version__)
print("expected: the kernel compiles")
child = subprocess.run([sys.executable, __file__, "--child"], capture_output=True, text=True, check=False)
if child.returncode == 0:
    print("got: the kernel compiles")
    sys.exit(0)
print("got: exit status", child.returncode)
print(child.stderr.strip().splitlines()[-1])
sys.exit(1)
