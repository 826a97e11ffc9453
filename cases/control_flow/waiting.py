"""Programs that wait for one another, which no version of Triton promises to let happen."""

import triton
import triton.language as tl


@triton.jit
def cross_program_wait_kernel(flag, out):
    pid = tl.program_id(0)
    if pid == 0:
        while tl.atomic_add(flag, 0) == 0:
            pass
        tl.store(out, 1)
    else:
        tl.atomic_xchg(flag, 1)
