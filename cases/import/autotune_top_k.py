"""Kernels of whose autotune configurations only a fraction is tried, measured without asking for a driver."""

import triton
import triton.language as tl

measured = []


def measure(launch, quantiles):
    measured.append(True)
    launch()
    return [1.0] * len(quantiles)


def by_block(BLOCK, **_):
    return BLOCK


def keep_small(configs, named_args, **kwargs):
    return [config for config in configs if config.kwargs["BLOCK"] <= 64]


def configs(blocks):
    return [triton.Config({"BLOCK": block}) for block in blocks]


@triton.autotune(
    configs=configs([64, 32, 16]),
    key=["n"],
    prune_configs_by={"perf_model": by_block, "top_k": 0.1},
    do_bench=measure,
)
@triton.jit
def tenth_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) * 2, mask=mask)


@triton.autotune(
    configs=configs([8, 16, 32, 64, 128, 256, 512, 1024]),
    key=["n"],
    prune_configs_by={"early_config_prune": keep_small, "perf_model": by_block, "top_k": 0.5},
    do_bench=measure,
)
@triton.jit
def half_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) * 2, mask=mask)


def count_measured(kernel, grid, args):
    """Half of the four configurations that are left, not half of all eight."""
    kernel[grid](**args)
    assert len(measured) == 2, f"{len(measured)} configurations were measured"
