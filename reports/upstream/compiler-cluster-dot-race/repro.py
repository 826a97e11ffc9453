"""Operands of tl.dot are read from the other block of a cluster without a barrier of the cluster."""

import inspect
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(x, out, N: tl.constexpr):
    value = tl.load(x + tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]).to(tl.float16)
    tl.store(out + tl.arange(0, N * N), tl.ravel(tl.dot(value, value)).to(tl.int32))


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
try:
    compiled = compile_kernel(kernel, {"x": "*i32", "out": "*i32"}, {"N": 32}, num_ctas=2)
except RuntimeError as error:  # 3.3 to 3.7, for another reason
    print("the kernel does not compile:", error)
    sys.exit(0)
lines = [line.strip() for line in compiled.asm["ptx"].splitlines()]
writes = ("st.shared", "stmatrix")
store = next(n for n, line in enumerate(lines) if line.startswith(writes))
load = next((n for n, line in enumerate(lines) if line.startswith("ld.shared::cluster")), None)
if load is None:
    print("no block reads the shared memory of another")
    sys.exit(0)
between = [line for line in lines[store : load + 1] if line.startswith((*writes, "bar", "mapa", "ld.shared"))]
wrong = not any(line.startswith("barrier.cluster") for line in between)
print("expected: barrier.cluster.arrive and barrier.cluster.wait between the store and the remote load")
print("got:", *between, sep="\n  ")

if "--gpu" in sys.argv:
    import torch

    x = torch.randint(0, 3, (32, 32), dtype=torch.int32)
    expected = (x.double() @ x.double()).to(torch.int32).flatten()
    out = torch.zeros(1024, dtype=torch.int32, device="cuda")
    failures = 0
    for _ in range(1000):
        kernel[(64,)](x.cuda(), out, 32, num_ctas=2)
        failures += not torch.equal(out.cpu(), expected)
    print("wrong in", failures, "of 1000 launches")
    wrong = failures > 0

sys.exit(1 if wrong else 0)
