"""Calls the functions of conch_triton_kernels. Run by `cerith record -- python inference.py`."""

import torch
from conch.ops.activation.gelu_tanh_and_mul import gelu_tanh_and_mul
from conch.ops.activation.silu_and_mul import silu_and_mul
from conch.ops.attention.paged_attention import paged_attention
from conch.ops.attention.varlen_attention import varlen_attention
from conch.ops.embedding.rotary_embedding import rotary_embedding
from conch.ops.normalization.gemma_rms_norm import gemma_rms_norm
from conch.ops.normalization.rms_norm import fused_add_rms_norm, rms_norm
from conch.ops.quantization.bitsandbytes.functional import dequantize_4bit, quantize_4bit
from conch.ops.quantization.fp8 import scaled_fp8_quant
from conch.ops.quantization.gemm import mixed_precision_gemm, scaled_gemm
from conch.ops.quantization.int8 import scaled_int8_quant
from conch.ops.vision.bev_pool import bev_pool, bev_pool_backward
from conch.ops.vision.nms import nms
from conch.ops.vision.voxelization import VoxelizationParameter, generate_voxels
from conch.ops.vllm.copy_blocks import copy_blocks
from conch.ops.vllm.reshape_and_cache import reshape_and_cache

from common import FLOATS, Driver, make_integers, make_normal


def rows(driver: Driver, count: int, width: int, dtype: torch.dtype) -> None:
    """Operations on rows: activations, normalisations, quantisation, embeddings."""

    def make_input(*shape: int) -> torch.Tensor:
        return make_normal(*shape, dtype=dtype)

    scale = torch.tensor([0.05])
    driver.call("silu_and_mul", lambda: silu_and_mul(make_input(count, 2 * width)))
    driver.call("gelu_tanh_and_mul", lambda: gelu_tanh_and_mul(make_input(count, 2 * width)))
    driver.call("rms_norm", lambda: rms_norm(make_input(count, width), make_input(width), 1e-6))
    driver.call(
        "fused_add_rms_norm",
        lambda: fused_add_rms_norm(
            make_input(count, width), make_input(count, width), make_input(width), 1e-6
        ),
    )
    driver.call("gemma_rms_norm", lambda: gemma_rms_norm(make_input(count, width), make_input(width), 1e-6))
    driver.call(
        "gemma_rms_norm residual",
        lambda: gemma_rms_norm(make_input(count, width), make_input(width), 1e-6, make_input(count, width)),
    )
    driver.call("scaled_fp8_quant", lambda: scaled_fp8_quant(make_input(count, width), scale))
    driver.call("scaled_int8_quant", lambda: scaled_int8_quant(make_input(count, width), scale))
    heads, size = 2, 32
    driver.call(
        "rotary_embedding",
        lambda: rotary_embedding(
            make_integers(16, count),
            make_input(count, heads * size),
            make_input(count, size),
            size,
            make_input(16, size),
        ),
    )


def blockwise(driver: Driver, count: int, size: int, dtype: torch.dtype) -> None:
    """Quantisation to 4 bits, and back."""
    for kind in ("nf4", "fp4"):

        def there_and_back(kind: str = kind) -> None:
            packed, state = quantize_4bit(make_normal(count, dtype=dtype), blocksize=size, quant_type=kind)
            dequantize_4bit(packed, state)

        driver.call(f"quantize_4bit {kind}", there_and_back)


def attention(driver: Driver, heads: int, shared: int, width: int, dtype: torch.dtype) -> None:
    """Attention over a paged cache, and the caches themselves."""
    lengths = torch.tensor([19, 7, 32], dtype=torch.int32)
    batch, page, pages = 3, 16, 8
    table = make_integers(pages, batch, 2, dtype=torch.int32)

    def cache() -> torch.Tensor:
        return make_normal(pages, page, shared, width, dtype=dtype)

    driver.call(
        "paged_attention",
        lambda: paged_attention(
            make_normal(batch, heads, width, dtype=dtype), cache(), cache(), table, lengths
        ),
    )
    starts = torch.tensor([0, 5, 6, 10], dtype=torch.int32)
    for causal in (False, True):
        driver.call(
            f"varlen_attention {causal}",
            lambda causal: varlen_attention(
                make_normal(10, heads, width, dtype=dtype),
                cache(),
                cache(),
                starts,
                5,
                lengths,
                32,
                table,
                causal=causal,
            ),
            causal,
        )
    driver.call(
        "reshape_and_cache",
        lambda: reshape_and_cache(
            make_normal(5, shared, width, dtype=dtype),
            make_normal(5, shared, width, dtype=dtype),
            cache(),
            cache(),
            torch.tensor([3, 17, 40, 41, -1]),
        ),
    )
    driver.call(
        "copy_blocks",
        lambda: copy_blocks(
            [cache().flatten(1), cache().flatten(1)],
            [cache().flatten(1), cache().flatten(1)],
            torch.tensor([[0, 5], [1, 6]]),
        ),
    )


def products(driver: Driver, m: int, n: int, k: int, dtype: torch.dtype) -> None:
    """Matrix products of quantised numbers."""
    for bits in (4, 8):
        for zeros in (None, make_normal(k // 32, n, dtype=dtype)):

            def product(bits: int = bits, zeros: torch.Tensor | None = zeros) -> None:
                packed = make_integers(2**31 - 1, k * bits // 32, n, dtype=torch.int32)
                scales = make_normal(k // 32, n, dtype=dtype)
                mixed_precision_gemm(
                    make_normal(m, k, dtype=dtype), packed, scales, zeros, bits, 2 ** (bits - 1), 32
                )

            driver.call(f"mixed_precision_gemm {bits}", product)
    a, b = (
        make_integers(255, *shape, dtype=torch.int32).sub(127).to(torch.int8) for shape in ((m, k), (k, n))
    )
    driver.call("scaled_gemm int8", lambda: scaled_gemm(a, b, torch.rand(m, 1), torch.rand(n, 1), dtype))
    driver.call("scaled_gemm one", lambda: scaled_gemm(a, b, torch.rand(1, 1), torch.rand(1, 1), dtype))


def vision(driver: Driver, count: int, channels: int) -> None:
    """Boxes, voxels, and pooling in a bird's eye view."""
    corners = torch.rand(count, 2) * 20
    boxes = torch.cat([corners, corners + 1 + torch.rand(count, 2) * 10], 1)
    driver.call("nms", lambda: nms(boxes, torch.rand(count), 0.4))
    features = VoxelizationParameter((0.0, 0.0, 0.0), (4.0, 4.0, 2.0), (1.0, 1.0, 1.0), 5)
    driver.call("generate_voxels", lambda: generate_voxels(torch.rand(count, 4) * 4, features))
    places = (
        torch.stack(
            [
                make_integers(3, count),
                make_integers(3, count),
                make_integers(1, count),
                make_integers(2, count),
            ],
            1,
        )
        .sort(0)[0]
        .int()
    )
    starts = torch.arange(0, count, 4, dtype=torch.int32)
    lengths = torch.minimum(torch.full_like(starts, 4), count - starts)
    driver.call(
        "bev_pool", lambda: bev_pool(make_normal(count, channels), places, starts, lengths, 2, 1, 3, 3)
    )
    driver.call(
        "bev_pool_backward",
        lambda: bev_pool_backward(make_normal(2, 1, 3, 3, channels), places, starts, lengths),
    )


def main() -> None:
    """Makes all calls."""
    driver = Driver()
    for dtype in FLOATS:
        for count, width in ((1, 64), (3, 37), (5, 256)):
            rows(driver, count, width, dtype)
        for count, size in ((64, 64), (200, 64), (500, 128)):
            blockwise(driver, count, size, dtype)
        for heads, shared, width in ((2, 2, 32), (4, 1, 64)):
            attention(driver, heads, shared, width, dtype)
        for m, n, k in ((1, 64, 64), (5, 128, 128), (17, 48, 96)):
            products(driver, m, n, k, dtype)
    for count, channels in ((9, 8), (33, 16), (70, 5)):
        vision(driver, count, channels)
    driver.end()


if __name__ == "__main__":
    main()
