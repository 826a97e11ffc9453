import triton
import triton.language as tl


def fill(args):
    args["x"].copy_(args["y"])


@triton.autotune(configs=[triton.Config({"BLOCK": 16}, pre_hook=fill)], key=["n"])
@triton.jit
def add_one(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i) + 1)
