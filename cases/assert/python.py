"""Python's own assertion in a kernel."""

import triton
import triton.language as tl


@triton.jit
def python_assert_kernel(x, out):
    value = tl.load(x)
    assert value > 3, "too small"
    tl.store(out, value + 5)
