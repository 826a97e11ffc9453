"""tl.load with volatile=True and an eviction policy is compiled to PTX that ptxas refuses."""

import inspect
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(x, out, EVICT: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i, eviction_policy=EVICT, volatile=True))


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
print("expected: the kernel compiles, or the front end rejects the combination with a message")
failed = False
for policy in ("evict_first", "evict_last"):
    try:
        compile_kernel(kernel, {"x": "*fp32", "out": "*fp32"}, {"EVICT": policy, "N": 16})
        print("got:", policy, "compiles")
    except Exception as error:
        failed = failed or "cannot be combined" in str(error)
        print("got:", *(line for line in str(error).splitlines() if "cannot be combined" in line), sep="\n  ")
sys.exit(1 if failed else 0)
