import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 2 << at}) for at in range(3)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % 2 == 0})
@triton.jit
def tuned(x_ptr, out_ptr, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * BLOCK, mask=at < n)


def launch_tuned(x):
    out = x.new_empty(x.shape)
    tuned[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, out, x.numel())
    return out
