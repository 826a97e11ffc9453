"""A kernel whose autotune configurations are pruned before they are tried."""

import triton
import triton.language as tl


def keep_small(configs, named_args, **kwargs):
    return [config for config in configs if config.kwargs["BLOCK"] <= 16]


@triton.autotune(
    configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 16})],
    key=["n"],
    prune_configs_by={"early_config_prune": keep_small},
)
@triton.jit
def scale_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) * 2, mask=mask)
