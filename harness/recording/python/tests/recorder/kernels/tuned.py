import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK": 32}, num_warps=2), triton.Config({"BLOCK": 64}, num_warps=8)], key=[]
)
@triton.heuristics({"TWICE": lambda args: args["value"] > 1})
@triton.jit
def tuned(ptr, value, TWICE: tl.constexpr, BLOCK: tl.constexpr):
    at = ptr + tl.arange(0, BLOCK)
    tl.store(at, tl.load(at) + (value * 2 if TWICE else value))
