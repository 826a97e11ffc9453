import triton
import triton.language as tl


def made(word):
    """A kernel out of a text that no file has."""
    text = f"""
@triton.jit
def generated(ptr, BLOCK: tl.constexpr):
    at = ptr + tl.arange(0, BLOCK)
    tl.store(at, tl.load(at) + {word})
"""
    names = {}
    exec(text, globals(), names)
    return names["generated"]
