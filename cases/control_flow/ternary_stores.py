import triton
import triton.language as tl


@triton.jit
def pick_kernel(x, y, out):
    pid = tl.program_id(0)
    tl.store(out + pid, tl.load(x)) if pid % 2 == 0 else tl.store(out + pid, tl.load(y))


@triton.jit
def known_kernel(x, y, out, FIRST: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(out + pid, tl.load(x)) if FIRST else tl.store(out + pid, tl.load(y))
