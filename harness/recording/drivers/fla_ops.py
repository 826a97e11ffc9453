"""Calls functions of flash-linear-attention, with gradients. Run by `cerith record -- python fla_ops.py`."""

from collections.abc import Callable

import torch
from fla import ops
from fla.modules.activations.ops import (
    gelu_bwd,
    gelu_fwd,
    logsigmoid_bwd,
    logsigmoid_fwd,
    sigmoid_bwd,
    sigmoid_fwd,
    swiglu_fwd,
    swiglu_fwdbwd,
    swish_bwd,
    swish_fwd,
)
from fla.modules.causal_conv1d.ops import causal_conv1d
from fla.modules.fused_cross_entropy.ops import cross_entropy_loss
from fla.modules.norm.fused_norm_gate import layer_norm_gated, rms_norm_gated
from fla.modules.norm.l2norm import l2norm
from fla.modules.norm.layernorm import group_norm, layer_norm, rms_norm
from fla.modules.rotary.ops import rotary_embedding
from fla.modules.token_shift import token_shift
from fla.ops.utils.cumsum import chunk_global_cumsum, chunk_local_cumsum
from fla.ops.utils.logsumexp import logsumexp_fwd
from fla.ops.utils.pooling import mean_pooling
from fla.ops.utils.softmax import softmax_bwd, softmax_fwd
from fla.ops.utils.solve_tril import solve_tril

from common import FLOATS, Driver, make_integers, make_normal, run_backward


def modules(driver: Driver, rows: int, width: int, dtype: torch.dtype) -> None:
    """Activations, normalisations and a loss."""

    def make_input(*shape: int) -> torch.Tensor:
        return make_normal(*shape, dtype=dtype, grad=True)

    def plain() -> torch.Tensor:
        return make_normal(rows, width, dtype=dtype)

    for name, function in (
        ("sigmoid_fwd", sigmoid_fwd),
        ("swish_fwd", swish_fwd),
        ("logsigmoid_fwd", logsigmoid_fwd),
        ("gelu_fwd", gelu_fwd),
        ("softmax_fwd", softmax_fwd),
        ("logsumexp_fwd", logsumexp_fwd),
    ):
        driver.call(name, lambda function: function(plain()), function)
    for name, function in (
        ("sigmoid_bwd", sigmoid_bwd),
        ("swish_bwd", swish_bwd),
        ("logsigmoid_bwd", logsigmoid_bwd),
        ("gelu_bwd", gelu_bwd),
        ("softmax_bwd", softmax_bwd),
        ("swiglu_fwd", swiglu_fwd),
    ):
        driver.call(name, lambda function: function(plain(), plain()), function)
    driver.call("swiglu_fwdbwd", lambda: swiglu_fwdbwd(plain(), plain(), plain()))
    driver.call("l2norm", lambda: run_backward(l2norm(make_input(2, rows, 2, width))))
    driver.call(
        "layer_norm",
        lambda: run_backward(layer_norm(make_input(rows, width), make_input(width), make_input(width))),
    )
    driver.call(
        "rms_norm",
        lambda: run_backward(rms_norm(make_input(rows, width), make_input(width), make_input(width))),
    )
    driver.call(
        "group_norm",
        lambda: run_backward(
            group_norm(
                make_input(rows, 2 * width), make_input(2 * width), make_input(2 * width), num_groups=2
            )
        ),
    )
    driver.call(
        "layer_norm_gated",
        lambda: run_backward(
            layer_norm_gated(
                make_input(rows, width), make_input(rows, width), make_input(width), make_input(width)
            )
        ),
    )
    driver.call(
        "rms_norm_gated",
        lambda: run_backward(
            rms_norm_gated(
                make_input(rows, width),
                make_input(rows, width),
                make_input(width),
                make_input(width),
                "sigmoid",
            )
        ),
    )
    target = make_integers(width, rows)
    driver.call(
        "cross_entropy_loss", lambda: run_backward(cross_entropy_loss(make_input(rows, width), target))
    )
    driver.call(
        "cross_entropy_loss smooth",
        lambda: run_backward(
            cross_entropy_loss(make_input(rows, width), target, label_smoothing=0.1, lse_square_scale=1e-3)
        ),
    )


def sequences(driver: Driver, length: int, width: int, dtype: torch.dtype) -> None:
    """Operations along a sequence: sums, convolutions, shifts, rotations."""

    def make_input(*shape: int) -> torch.Tensor:
        return make_normal(*shape, dtype=dtype, grad=True)

    for backwards in (False, True):
        driver.call(
            f"chunk_local_cumsum {backwards}",
            lambda backwards: chunk_local_cumsum(make_input(1, length, 2).detach(), 16, reverse=backwards),
            backwards,
        )
        driver.call(
            f"chunk_local_cumsum vector {backwards}",
            lambda backwards: chunk_local_cumsum(
                make_input(1, length, 2, width).detach(), 16, reverse=backwards
            ),
            backwards,
        )
        driver.call(
            f"chunk_global_cumsum {backwards}",
            lambda backwards: chunk_global_cumsum(make_input(1, length, 2).detach(), reverse=backwards),
            backwards,
        )
    driver.call("mean_pooling", lambda: run_backward(mean_pooling(make_input(1, length, 2, width), 8)))
    driver.call("token_shift", lambda: run_backward(token_shift(make_input(2, length, width))))
    driver.call(
        "causal_conv1d",
        lambda: run_backward(
            causal_conv1d(
                make_input(2, length, width), make_input(width, 4), make_input(width), activation="silu"
            )[0]
        ),
    )
    driver.call(
        "rotary_embedding",
        lambda: run_backward(
            rotary_embedding(
                make_input(2, length, 2, width),
                make_normal(length, width // 2, dtype=dtype),
                make_normal(length, width // 2, dtype=dtype),
            )
        ),
    )
    driver.call("solve_tril", lambda: solve_tril(torch.tril(make_normal(1, 32, 2, 16) * 0.1, -1)))


def attentions(driver: Driver, length: int, width: int, dtype: torch.dtype) -> None:
    """Attention that is linear in the length, by chunks and token by token."""

    def head() -> torch.Tensor:
        return make_normal(1, length, 2, width, dtype=dtype, grad=True)

    def unit() -> torch.Tensor:
        return (
            torch.nn.functional.normalize(make_normal(1, length, 2, width), dim=-1)
            .to(dtype)
            .requires_grad_(True)
        )

    def decay(*shape: int) -> torch.Tensor:
        return (
            torch.nn.functional.logsigmoid(torch.randn(1, length, 2, *shape)).to(dtype).requires_grad_(True)
        )

    def gate() -> torch.Tensor:
        return torch.rand(1, length, 2).to(dtype).requires_grad_(True)

    calls: dict[str, Callable[[], object]] = {
        "chunk_retention": lambda: ops.chunk_retention(head(), head(), head()),
        "fused_recurrent_retention": lambda: ops.fused_recurrent_retention(head(), head(), head()),
        "parallel_retention": lambda: ops.parallel_retention(head(), head(), head()),
        "chunk_linear_attn": lambda: ops.chunk_linear_attn(head(), head(), head(), normalize=False),
        "fused_recurrent_linear_attn": lambda: ops.fused_recurrent_linear_attn(head(), head(), head()),
        "chunk_gla": lambda: ops.chunk_gla(head(), head(), head(), decay(width)),
        "fused_recurrent_gla": lambda: ops.fused_recurrent_gla(head(), head(), head(), decay(width)),
        "chunk_simple_gla": lambda: ops.chunk_simple_gla(head(), head(), head(), decay()),
        "fused_recurrent_simple_gla": lambda: ops.fused_recurrent_simple_gla(head(), head(), head(), decay()),
        "chunk_delta_rule": lambda: ops.chunk_delta_rule(head(), unit(), head(), gate()),
        "fused_recurrent_delta_rule": lambda: ops.fused_recurrent_delta_rule(head(), unit(), head(), gate()),
        "chunk_gated_delta_rule": lambda: ops.chunk_gated_delta_rule(head(), unit(), head(), decay(), gate()),
        "fused_recurrent_gated_delta_rule": lambda: ops.fused_recurrent_gated_delta_rule(
            head(), unit(), head(), decay(), beta=gate()
        ),
        "fused_recurrent_hgrn": lambda: ops.fused_recurrent_hgrn(head().flatten(2), decay(width).flatten(2)),
        "parallel_attn": lambda: ops.parallel_attn(head(), head(), head()),
        "parallel_forgetting_attn": lambda: ops.parallel_forgetting_attn(head(), head(), head(), decay()),
    }
    for name, function in calls.items():
        forward_only = name == "fused_recurrent_gated_delta_rule"
        driver.call(
            name,
            lambda function, only: function() if only else run_backward(function()),
            function,
            forward_only,
        )


def main() -> None:
    """Makes all calls."""
    driver = Driver()
    for dtype in FLOATS:
        for rows, width in ((3, 48), (5, 128)):
            modules(driver, rows, width, dtype)
        for length, width in ((20, 32), (37, 64)):
            sequences(driver, length, width, dtype)
        attentions(driver, 33, 32, dtype)
    driver.end()


if __name__ == "__main__":
    main()
