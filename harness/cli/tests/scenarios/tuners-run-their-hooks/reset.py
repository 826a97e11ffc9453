import triton
import triton.language as tl

ONE = [triton.Config({"BLOCK": 16}, num_warps=1)]
SEVERAL = [triton.Config({"BLOCK": 16}, num_warps=1), triton.Config({"BLOCK": 32}, num_warps=2)]


@triton.jit
def add_one_to(x, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


@triton.autotune(configs=SEVERAL, key=["n"], reset_to_zero=["x"])
@triton.jit
def reset(x, n, BLOCK: tl.constexpr):
    add_one_to(x, n, BLOCK)


@triton.autotune(configs=SEVERAL, key=["n"], reset_to_zero=["x"], restore_value=["x"])
@triton.jit
def reset_and_restored(x, n, BLOCK: tl.constexpr):
    add_one_to(x, n, BLOCK)


@triton.autotune(configs=SEVERAL, key=["n"], restore_value=["x"])
@triton.jit
def restored(x, n, BLOCK: tl.constexpr):
    add_one_to(x, n, BLOCK)


@triton.autotune(configs=ONE, key=["n"], reset_to_zero=["x"])
@triton.jit
def not_measured(x, n, BLOCK: tl.constexpr):
    add_one_to(x, n, BLOCK)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 16}, pre_hook=lambda args: args["x"].zero_()),
        triton.Config({"BLOCK": 32}, pre_hook=lambda args: args["x"].zero_()),
    ],
    key=["n"],
    restore_value=["x"],
)
@triton.jit
def cleared(x, n, BLOCK: tl.constexpr):
    add_one_to(x, n, BLOCK)
