import triton
import triton.language as tl


@triton.jit
def every_kind(x, n, one, big, huge, flag, nothing, f, B: tl.constexpr):
    o = tl.arange(0, B)
    v = tl.load(x + o, mask=o < n, other=0)
    if nothing is None:
        v = v + one
    v = v + big + huge.to(tl.int64) + f.to(tl.int32)
    if flag:
        v = v * 2
    tl.store(x + o, v.to(tl.int32), mask=o < n)


@triton.jit
def fill(x, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + o, o, mask=o < n)


@triton.autotune([triton.Config({"B": 4096}, num_warps=4), triton.Config({"B": 64}, num_warps=2)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % 2 == 0})
@triton.jit
def tuned(x, n, EVEN: tl.constexpr, B: tl.constexpr):
    tl.static_assert(B < 4096)
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + o, o + EVEN, mask=o < n)


@triton.autotune(
    [triton.Config({"B": 64}), triton.Config({"B": 32}), triton.Config({"B": 16})],
    key=["n"],
    prune_configs_by={"early_config_prune": lambda configs, *_, **__: [one for one in configs if one.kwargs["B"] > 16]},
)
@triton.jit
def pruned(x, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + o, o, mask=o < n)


def grid(meta):
    return (triton.cdiv(meta["n"], meta["B"]), 2)


@triton.jit
def pair(xs, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(xs[0] + o, xs[1])


@triton.jit
def described(source, out, M: tl.constexpr, N: tl.constexpr):
    tile = source.load([0, 0])
    o = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + o, tile)


@triton.jit
def inner(x):
    tl.static_assert(False, "never")
    return x


@triton.jit
def rejected(x):
    y = tl.load(x)
    inner(y)


@triton.jit
def divide(x, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(x + o, tl.fdiv(tl.load(x + o), tl.load(x + o + B)))


def make_kernel(step):
    @triton.jit
    def kernel(x, B: tl.constexpr):
        o = tl.arange(0, B)
        tl.store(x + o, o + step)

    return kernel


STEP: tl.constexpr = tl.constexpr(3)
closure = make_kernel(STEP)
