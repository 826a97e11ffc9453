"""Global constexprs where Python looks at the object and not at its value."""

import triton
import triton.language as tl


NOTHING = tl.constexpr(None)
THREE = tl.constexpr(3)


@triton.jit
def identity_kernel(out):
    if NOTHING is None:
        tl.store(out, 1)
    else:
        tl.store(out, 2)


@triton.jit
def isinstance_kernel(out):
    if isinstance(THREE, int):
        tl.store(out, 1)
    else:
        tl.store(out, 2)
