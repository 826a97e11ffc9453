import sibling
import triton
import triton.language as tl

calls = []


@triton.jit
def count(x):
    calls.append(1)
    sibling.counted += 1
    tl.store(x, len(calls) * 100 + sibling.counted)
