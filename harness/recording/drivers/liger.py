"""Calls liger_kernel's functions, forward and backward. Run by `cerith record -- python liger.py`."""

import torch
from liger_kernel.transformers import functional as liger

from common import FLOATS, Driver, make_integers, make_normal, run_backward


def elementwise(driver: Driver, rows: int, width: int, dtype: torch.dtype) -> None:
    """Gates and activations."""

    def pair() -> tuple[torch.Tensor, torch.Tensor]:
        return make_normal(rows, width, dtype=dtype, grad=True), make_normal(
            rows, width, dtype=dtype, grad=True
        )

    driver.call("swiglu", lambda: run_backward(liger.liger_swiglu(*pair())))
    driver.call("geglu", lambda: run_backward(liger.liger_geglu(*pair())))
    driver.call("relu_squared", lambda: run_backward(liger.liger_relu_squared(pair()[0])))
    driver.call("softmax", lambda: run_backward(liger.liger_softmax(pair()[0])))
    driver.call("sparsemax", lambda: run_backward(liger.liger_sparsemax(pair()[0])))


def norms(driver: Driver, rows: int, width: int, dtype: torch.dtype) -> None:
    """Normalisations."""

    def make_input(*shape: int) -> torch.Tensor:
        return make_normal(*shape, dtype=dtype, grad=True)

    for mode in ("llama", "gemma", "none"):
        offset = 1.0 if mode == "gemma" else 0.0
        driver.call(
            f"rms_norm {mode}",
            lambda mode, offset: run_backward(
                liger.liger_rms_norm(
                    make_input(rows, width), make_input(width), 1e-6, offset, mode, in_place=False
                )
            ),
            mode,
            offset,
        )
    driver.call(
        "fused_add_rms_norm",
        lambda: run_backward(
            liger.liger_fused_add_rms_norm(
                make_input(rows, width), make_input(rows, width), make_input(width), 1e-6, in_place=False
            )
        ),
    )
    driver.call(
        "modulated_rms_norm",
        lambda: run_backward(
            liger.liger_modulated_rms_norm(
                make_input(2, rows, width),
                make_input(width),
                make_input(2, width),
                make_input(2, width),
                in_place=False,
            )
        ),
    )
    driver.call(
        "layer_norm",
        lambda: run_backward(
            liger.liger_layer_norm(make_input(rows, width), make_input(width), make_input(width), 1e-6)
        ),
    )
    driver.call(
        "poly_norm",
        lambda: run_backward(
            liger.liger_poly_norm(make_input(rows, width), make_input(3), make_input(1), in_place=False)
        ),
    )
    driver.call(
        "dyt",
        lambda: run_backward(
            liger.liger_dyt(make_input(rows, width), make_input(1), make_input(width), make_input(width))
        ),
    )
    driver.call(
        "group_norm",
        lambda: run_backward(
            liger.liger_group_norm(make_input(rows, 6, width), make_input(6), make_input(6), 6, 3, 1e-6)
        ),
    )


def losses(driver: Driver, rows: int, width: int, dtype: torch.dtype) -> None:
    """Losses over a vocabulary."""
    target = make_integers(width, rows)
    target[0] = -100

    def logits() -> torch.Tensor:
        return make_normal(rows, width, dtype=dtype, grad=True)

    def chances(grad: bool = False) -> torch.Tensor:
        return torch.softmax(make_normal(rows, width), -1).to(dtype).requires_grad_(grad)

    for reduction in ("mean", "sum", "none"):
        driver.call(
            f"cross_entropy {reduction}",
            lambda reduction: run_backward(liger.liger_cross_entropy(logits(), target, reduction=reduction)),
            reduction,
        )
    driver.call(
        "cross_entropy weighted",
        lambda: run_backward(
            liger.liger_cross_entropy(
                logits(),
                target,
                weight=torch.rand(width),
                label_smoothing=0.1,
                lse_square_scale=1e-3,
                softcap=20.0,
            )
        ),
    )
    driver.call(
        "cross_entropy remarks",
        lambda: liger.liger_cross_entropy(
            logits(), target, return_z_loss=True, return_token_accuracy=True, return_predicted_tokens=True
        ),
    )
    driver.call(
        "fused_linear_cross_entropy",
        lambda: run_backward(
            liger.liger_fused_linear_cross_entropy(
                make_normal(rows, 32, dtype=dtype, grad=True),
                make_normal(width, 32, dtype=dtype, grad=True),
                target,
            )
        ),
    )
    for beta in (0.0, 0.5, 1.0):
        driver.call(
            f"jsd {beta}",
            lambda beta: run_backward(
                liger.liger_jsd(
                    torch.log_softmax(make_normal(rows, width), -1).to(dtype).requires_grad_(True),
                    torch.log_softmax(make_normal(rows, width), -1).to(dtype),
                    beta=beta,
                )
            ),
            beta,
        )
    for log_target in (False, True):
        driver.call(
            f"kl_div {log_target}",
            lambda log_target: run_backward(
                liger.liger_kl_div(
                    torch.log_softmax(make_normal(rows, width), -1).to(dtype).requires_grad_(True),
                    chances().log() if log_target else chances(),
                    log_target=log_target,
                )
            ),
            log_target,
        )
    for reduction in ("batchmean", "none"):
        driver.call(
            f"tvd {reduction}",
            lambda reduction: run_backward(
                liger.liger_tvd(chances(grad=True), chances(), reduction=reduction)
            ),
            reduction,
        )


def rotations(driver: Driver, length: int, heads: int, width: int, dtype: torch.dtype) -> None:
    """Rotary position embeddings, and attention within neighbourhoods."""

    def make_input(*shape: int) -> torch.Tensor:
        return make_normal(*shape, dtype=dtype, grad=True)

    driver.call(
        "rope",
        lambda: run_backward(
            liger.liger_rope(
                make_input(2, heads, length, width),
                make_input(2, 1, length, width),
                make_input(1, length, width).detach(),
                make_input(1, length, width).detach(),
            )
        ),
    )
    driver.call(
        "qwen2vl_mrope",
        lambda: run_backward(
            liger.liger_qwen2vl_mrope(
                make_input(2, heads, length, width),
                make_input(2, 1, length, width),
                make_input(3, 2, length, width).detach(),
                make_input(3, 2, length, width).detach(),
                [width // 8, width // 8, width // 4],
            )
        ),
    )
    driver.call(
        "fused_neighborhood_attention",
        lambda: run_backward(
            liger.liger_fused_neighborhood_attention(
                make_input(1, heads, length, width),
                make_input(1, heads, length, width),
                make_input(1, heads, length, width),
                kernel_size=3,
            )
        ),
    )
    driver.call(
        "multi_token_attention",
        lambda: run_backward(
            liger.liger_multi_token_attention(
                make_input(1, 2, length, length), make_input(2, 2, 3, 3), padding=1
            )
        ),
    )
    driver.call(
        "attn_res",
        lambda: run_backward(
            liger.liger_attn_res(make_input(3, 2, length, width), make_input(width), make_input(width))
        ),
    )


def main() -> None:
    """Makes all calls."""
    driver = Driver()
    for dtype in FLOATS:
        for rows, width in ((3, 37), (4, 128), (2, 300)):
            elementwise(driver, rows, width, dtype)
            norms(driver, rows, width, dtype)
            losses(driver, rows, width, dtype)
        for length, heads, width in ((5, 2, 32), (8, 4, 64)):
            rotations(driver, length, heads, width, dtype)
    driver.end()


if __name__ == "__main__":
    main()
