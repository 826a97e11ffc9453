"""Liger-Kernel's tests of norms, activations, rotary embeddings and embeddings.

Most of the library's references cast to float32. These are the same functions without casts, as `check` evaluates them in float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import torch  # type: ignore[import-not-found]
from case import Make
from liger import DTYPES, Case, Function, load, name_case, pair
from torch.nn import functional  # type: ignore[import-not-found]

# Norms.


def norm_rows(x: Any, eps: float) -> Any:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


def rms_norm(x: Any, *rest: Any) -> Any:
    """With and without weights."""
    weight, eps, offset = rest[0], rest[1], rest[2]
    normed = norm_rows(x, eps)
    return normed if weight is None else normed * (offset + weight)


def list_rms_norm() -> Iterator[Case]:
    apply = load("rms_norm", "LigerRMSNormFunction")
    modes = (("llama", 0.0), ("gemma", 1.0), ("none", 0.0))
    big = (((2, 16, 512), (5, 23, 123)), modes, (True, False), "test_correctness")
    small = (((2, 2, 8), (9, 7, 41)), modes[:2], (True,), "test_correctness_functional")
    for shapes, chosen, places, test in (big, small):
        tolerances = (("float32", 1e-4, 1e-6), ("bfloat16", 2e-1, 2e-2))
        for shape, (dtype, atol, rtol), (mode, offset), in_place, affine in product(
            shapes, tolerances, chosen, places, (True, False)
        ):
            name = name_case(
                f"rms_norm.{test}", shape, dtype, mode, f"in_place={in_place}", f"affine={affine}"
            )
            inputs, sums = (("x", "weight"), ("dweight",)) if affine else (("x",), ())

            def args(
                make: Make,
                shape: Any = shape,
                dtype: str = dtype,
                rest: Any = (offset, mode, in_place),
                affine: bool = affine,
            ) -> Any:
                kind = DTYPES[dtype]
                weight = make(shape[-1], dtype=kind) if affine else None
                return [make(*shape, dtype=kind), weight, 1e-6, *rest, make(*shape, dtype=kind)]

            launcher, like = pair(apply, rms_norm, inputs, sums=sums)
            yield Case(name, launcher, like, args, atol, rtol, dtype)


def fused_add_rms_norm(x: Any, residual: Any, weight: Any, eps: float, offset: float, *_rest: Any) -> Any:
    total = x + residual
    return norm_rows(total, eps) * (offset + weight), total


def list_fused_add_rms_norm() -> Iterator[Case]:
    apply = load("fused_add_rms_norm", "LigerFusedAddRMSNormFunction")
    modes = (("llama", 0.0), ("gemma", 1.0), ("none", 0.0))
    big = (((2, 16, 512), (5, 23, 123)), modes, "test_correctness")
    small = (((2, 2, 8), (9, 7, 41)), modes[:2], "test_correctness_functional")
    for shapes, chosen, test in (big, small):
        tolerances = (("float32", 1e-4, 1e-6), ("bfloat16", 2e-1, 2e-2))
        for shape, (dtype, atol, rtol), (mode, offset), in_place in product(
            shapes, tolerances, chosen, (True, False)
        ):
            name = name_case(f"fused_add_rms_norm.{test}", shape, dtype, mode, f"in_place={in_place}")

            def args(
                make: Make, shape: Any = shape, dtype: str = dtype, rest: Any = (offset, mode, in_place)
            ) -> Any:
                kind = DTYPES[dtype]
                one, two, three, four = (make(*shape, dtype=kind) for _ in range(4))
                return [one, two, make(shape[-1], dtype=kind), 1e-6, *rest, three, four]

            launcher, like = pair(
                apply, fused_add_rms_norm, ("x", "residual", "weight"), ("y", "total"), ("dweight",)
            )
            yield Case(name, launcher, like, args, atol, rtol, dtype)


def layer_norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    return functional.layer_norm(x, (x.shape[-1],), weight, bias, eps)


def list_layer_norm() -> Iterator[Case]:
    apply = load("layer_norm", "LigerLayerNormFunction")
    big = (((2, 8, 64), (4, 16, 128), (1, 1, 1023), (3, 7, 256), (1, 1, 1500)), "test_liger_layer_norm")
    small = (((2, 8, 64), (4, 16, 128), (3, 32, 128)), "test_liger_layer_norm_functional")
    for shapes, test in (big, small):
        for shape, (dtype, atol, rtol) in product(
            shapes, (("float32", 1e-5, 1e-5), ("bfloat16", 2e-2, 2e-2))
        ):

            def args(make: Make, shape: Any = shape, dtype: str = dtype) -> Any:
                kind, size = DTYPES[dtype], shape[-1]
                rows = make(*shape, dtype=kind), make(size, dtype=kind), make(size, dtype=kind)
                return [*rows, 1e-6, make(*shape, dtype=kind)]

            launcher, like = pair(apply, layer_norm, ("x", "weight", "bias"), sums=("dweight", "dbias"))
            yield Case(name_case(f"layer_norm.{test}", shape, dtype), launcher, like, args, atol, rtol, dtype)


def group_norm(x: Any, weight: Any, bias: Any, _channels: int, groups: int, eps: float) -> Any:
    return functional.group_norm(x, groups, weight, bias, eps)


def list_group_norm() -> Iterator[Case]:
    apply = load("group_norm", "LigerGroupNormFunction")
    shapes = ((1, 1, 1, 3), (1, 32, 32, 4), (2, 32, 1, 256), (1, 21, 7, 723), (1, 12, 3, 1024))
    for batch, channels, groups, size in shapes:

        def args(
            make: Make, batch: int = batch, channels: int = channels, groups: int = groups, size: int = size
        ) -> Any:
            shape = (batch, channels, size)
            return [make(*shape), make(channels), make(channels), channels, groups, 1e-6, make(*shape)]

        name = name_case("group_norm.test_liger_group_norm", (batch, channels, groups, size), "float32")
        launcher, like = pair(apply, group_norm, ("x", "weight", "bias"))
        yield Case(name, launcher, like, args, 1e-4, 1e-4, "float32")


def poly_norm(x: Any, weight: Any, bias: Any, eps: float, *_rest: Any) -> Any:
    powers = (norm_rows(x**power, eps) for power in (3, 2, 1))
    return sum(one * factor for one, factor in zip(powers, weight)) + bias


def list_poly_norm() -> Iterator[Case]:
    apply = load("poly_norm", "LigerPolyNormFunction")
    big = (((2, 16, 512), (1, 16, 1024), (5, 23, 123)), 3e-4, 6e-1, 5e-2, "test_correctness")
    small = (((2, 2, 8), (9, 7, 41)), 1e-4, 2e-1, 2e-2, "test_correctness_functional")
    for shapes, wide, narrow, relative, test in (big, small):
        for shape, (dtype, atol, rtol) in product(
            shapes, (("float32", wide, 1e-6), ("bfloat16", narrow, relative))
        ):

            def args(make: Make, shape: Any = shape, dtype: str = dtype) -> Any:
                kind = DTYPES[dtype]
                weight, bias = make(3, dtype=kind), make(dtype=kind)
                return [make(*shape, dtype=kind), weight, bias, 1e-6, False, make(*shape, dtype=kind)]

            launcher, like = pair(apply, poly_norm, ("x", "weight", "bias"), sums=("dweight", "dbias"))
            yield Case(name_case(f"poly_norm.{test}", shape, dtype), launcher, like, args, atol, rtol, dtype)


def dyt(x: Any, alpha: Any, gamma: Any, *beta: Any) -> Any:
    return (
        sum(beta[:1], gamma * torch.tanh(alpha * x)) if beta[0] is not None else gamma * torch.tanh(alpha * x)
    )


def list_dyt() -> Iterator[Case]:
    apply = load("dyt", "LigerDyTFunction")
    module = ((("float32", 1e-5, 1e-5),), "test_liger_dyt_correctness")
    functions = ((("float32", 1e-5, 1e-5), ("bfloat16", 1e-8, 5e-2)), "test_liger_dyt_functional")
    for tolerances, test in (module, functions):
        shapes = ((2, 2, 4096), (2, 4, 2048), (1, 1, 1023), (3, 7, 256))
        for shape, (dtype, atol, rtol), beta in product(shapes, tolerances, (False, True)):

            def args(make: Make, shape: Any = shape, dtype: str = dtype, beta: bool = beta) -> Any:
                kind = DTYPES[dtype]
                gamma, shift = make(shape[-1], dtype=kind), make(shape[-1], dtype=kind) if beta else None
                return [make(*shape, dtype=kind), make(1, dtype=kind), gamma, shift, make(*shape, dtype=kind)]

            inputs = ("x", "alpha", "gamma", "beta") if beta else ("x", "alpha", "gamma")
            sums = ("dbeta", "dgamma", "dalpha") if beta else ("dgamma", "dalpha")
            # Several programs store parts of `dalpha`.
            launcher, like = pair(apply, dyt, inputs, sums=sums, omitted=("dalpha",))
            yield Case(
                name_case(f"dyt.{test}", shape, dtype, f"beta={beta}"),
                launcher,
                like,
                args,
                atol,
                rtol,
                dtype,
            )


# Functions of elements and rows.


def list_plain(operation: str, apply: Function, reference: Function, tests: Any) -> Iterator[Case]:
    """Functions of one tensor. `tests` has names, shapes and tolerances."""
    for (test, shapes, tolerances), rest in tests:
        for shape, (dtype, atol, rtol) in product(shapes, tolerances):

            def args(make: Make, shape: Any = shape, dtype: str = dtype, rest: Any = rest) -> Any:
                return [make(*shape, dtype=DTYPES[dtype]), *rest, make(*shape, dtype=DTYPES[dtype])]

            launcher, like = pair(apply, reference, ("x",))
            yield Case(
                name_case(f"{operation}.{test}", shape, dtype, *rest), launcher, like, args, atol, rtol, dtype
            )


def sparsemax(x: Any, dim: int) -> Any:
    ordered = torch.sort(x, dim=dim, descending=True).values.movedim(dim, -1)
    steps = torch.arange(1, ordered.shape[-1] + 1, dtype=x.dtype)
    support = 1 + steps * ordered > ordered.cumsum(-1)
    count = support.sum(-1, keepdim=True)
    tau = ((ordered * support).sum(-1, keepdim=True) - 1) / count
    return torch.clamp(x - tau.movedim(-1, dim), min=0)


def list_rows() -> Iterator[Case]:
    shapes: tuple[tuple[int, ...], ...] = ((2, 8), (4, 16), (1, 1023), (3, 7, 256), (1, 4096), (1, 2, 4096))
    tolerances = (("float32", 1e-5, 1e-5), ("bfloat16", 5e-2, 5e-2))
    tests = [
        ((test, shapes, tolerances), ()) for test in ("test_liger_softmax", "test_liger_softmax_functional")
    ]
    softmax = load("softmax", "LigerSoftmaxFunction")
    yield from list_plain("softmax", softmax, lambda x: torch.softmax(x, -1), tests)
    shapes = ((2, 2, 4096), (2, 4, 2048), (1, 1, 1023), (3, 7, 256), (2, 8), (1, 4096))
    tolerances = (("float32", 1e-5, 1e-5), ("bfloat16", 1e-1, 5e-2))
    module = ("test_liger_relu_squared_correctness", shapes, tolerances)
    functions = ("test_liger_relu_squared_functional", ((2, 2, 4096), (1, 1, 1023), (2, 8)), tolerances)
    squared = load("relu_squared", "LigerReLUSquaredFunction")
    yield from list_plain(
        "relu_squared", squared, lambda x: torch.relu(x).square(), [(module, ()), (functions, ())]
    )
    chosen = ((2, 16, 512), (5, 23, 123)), (("float32", 1e-5, 1e-5),)
    names = ("test_liger_sparsemax_correctness", "test_liger_sparsemax_functional_correctness")
    dims = [((test, *chosen), (dim,)) for test in names for dim in (-1, 1)]
    yield from list_plain("sparsemax", load("sparsemax", "LigerSparsemaxFunction"), sparsemax, dims)


def list_gates() -> Iterator[Case]:
    """The gates of the multilayer perceptrons. The library's tests compare them after a matrix product of torch's."""
    swiglu = ("swiglu", load("swiglu", "LigerSiLUMulFunction"), lambda a, b: functional.silu(a) * b)
    geglu = (
        "geglu",
        load("geglu", "LigerGELUMulFunction"),
        lambda a, b: functional.gelu(a, approximate="tanh") * b,
    )
    loose = (("float32", 1e0, 1e-5), ("bfloat16", 1e4, 1e-2))
    sized = ((2, 16, 512), (6, 5, 431))
    tests = (
        (*swiglu, "test_correctness_llamamlp", sized, loose),
        (*swiglu, "test_correctness_phi3mlp", sized, loose),
        (
            *geglu,
            "test_correctness",
            ((2, 2, 4096), (3, 1, 4231)),
            (("float32", 1e0, 2e-6), ("bfloat16", 1e-2, 1e-2)),
        ),
    )
    for operation, apply, reference, test, shapes, tolerances in tests:
        for shape, (dtype, atol, rtol) in product(shapes, tolerances):

            def args(make: Make, shape: Any = shape, dtype: str = dtype) -> Any:
                return [make(*shape, dtype=DTYPES[dtype]) for _ in range(3)]

            launcher, like = pair(apply, reference, ("a", "b"))
            yield Case(
                name_case(f"{operation}.{test}", shape, dtype), launcher, like, args, atol, rtol, dtype
            )


# Rotary embeddings.


def turn(x: Any, cos: Any, sin: Any) -> Any:
    """The library reads the first half of the cosines and sines, as the other half must be equal."""
    low, high = x.chunk(2, -1)
    cos, sin = (one.chunk(2, -1)[0] for one in (cos, sin))
    return torch.cat((low * cos - high * sin, high * cos + low * sin), -1)


def rope(q: Any, k: Any, cos: Any, sin: Any) -> Any:
    return turn(q, cos.unsqueeze(1), sin.unsqueeze(1)), turn(k, cos.unsqueeze(1), sin.unsqueeze(1))


def multimodal_rope(q: Any, k: Any, cos: Any, sin: Any, section: Sequence[int]) -> Any:
    """Each section of the features has the positions of one of three axes."""
    cos, sin = (
        torch.cat([part[at % 3] for at, part in enumerate(one.split([*section] * 2, -1))], -1).unsqueeze(1)
        for one in (cos, sin)
    )
    return turn(q, cos, sin), turn(k, cos, sin)


def make_angles(positions: Any, size: int, dtype: Any) -> tuple[Any, Any]:
    """Cosines and sines, the same for both halves of the features."""
    angles = positions[..., None].float() / 10000.0 ** (torch.arange(0, size, 2).float() / size)
    angles = torch.cat((angles, angles), -1)
    return angles.cos().to(dtype), angles.sin().to(dtype)


def list_rope() -> Iterator[Case]:
    apply = load("rope", "LigerRopeFunction")
    big = (
        (1, 8, 32, 32, 64),
        (2, 4, 32, 32, 64),
        (1, 8, 32, 8, 64),
        (2, 8, 32, 8, 64),
        (3, 1, 73, 213, 92),
        (3, 1, 73, 155, 92),
    )
    small = ((1, 2, 2, 2, 8), (1, 2, 1, 2, 8), (1, 7, 41, 41, 41))
    tolerances = (("float32", 1e-5, 1e-5), ("bfloat16", 1e-1, 1e-5), ("float16", 1e-2, 1e-5))
    for shapes, test in ((big, "test_correctness"), (small, "test_functional_correctness")):
        for shape, (dtype, atol, rtol), expands in product(shapes, tolerances, (True, False)):

            def args(make: Make, shape: Any = shape, dtype: str = dtype, expands: bool = expands) -> Any:
                batch, length, queries, keys, size = shape
                kind = DTYPES[dtype]
                positions = torch.arange(length).expand(batch if expands else 1, -1)
                heads = [make(batch, count, length, size, dtype=kind) for count in (queries, keys) * 2]
                return [*heads[:2], *make_angles(positions, size, kind), *heads[2:]]

            if shape[-1] % 2:
                continue  # The reference is not defined for an odd size, and the library compares with itself.
            launcher, like = pair(apply, rope, ("q", "k"), ("q", "k"))
            name = name_case(f"rope.{test}", shape, dtype, f"expand={expands}")
            yield Case(name, launcher, like, args, atol, rtol, dtype)


def list_multimodal_rope() -> Iterator[Case]:
    apply = load("qwen2vl_mrope", "LigerQwen2VLMRopeFunction")
    sections = ((128, (16, 24, 24)), (96, (16, 16, 16)), (64, (8, 12, 12)))
    tolerances = (("float32", 1e-5, 1e-5), ("bfloat16", 1e-1, 1e-5))
    heads = ((64, 8), (28, 4), (12, 2))
    shapes = [(batch, 1, *count, *one) for batch, count, one in product((1, 2), heads, sections)]
    shapes += [(batch, 3, *count, *one) for batch, count, one in product((1, 2), heads[1:], sections)]
    small = [(1, 2, 2, 2, 8, (2, 1, 1)), (1, 2, 1, 2, 8, (2, 1, 1))]
    for chosen, test in ((shapes, "test_correctness"), (small, "test_functional_correctness")):
        for shape, (dtype, atol, rtol) in product(chosen, tolerances):

            def args(make: Make, shape: Any = shape, dtype: str = dtype) -> Any:
                batch, length, queries, keys, size, section = shape
                kind = DTYPES[dtype]
                positions = torch.arange(3 * batch * length).view(3, batch, length)
                heads = [make(batch, count, length, size, dtype=kind) for count in (queries, keys) * 2]
                return [*heads[:2], *make_angles(positions, size, kind), list(section), *heads[2:]]

            launcher, like = pair(apply, multimodal_rope, ("q", "k"), ("q", "k"))
            name = name_case(f"qwen2vl_mrope.{test}", shape[:5], dtype)
            yield Case(name, launcher, like, args, atol, rtol, dtype)


# Embeddings.


def embedding(weight: Any, index: Any) -> Any:
    return functional.embedding(index, weight)


def list_embedding() -> Iterator[Case]:
    """The library skips these: its embedding is experimental."""
    apply = load("experimental.embedding", "LigerEmbeddingFunction")
    for rows, size in ((100, 64), (1000, 128), (100, 60), (1000, 120), (1000, 500), (3052, 768)):

        def args(make: Make, rows: int = rows, size: int = size) -> Any:
            index = make.ints(32, high=rows, dtype=torch.int64)
            return [make(rows, size), index, make(32, size)]

        launcher, like = pair(apply, embedding, ("weight",))
        name = name_case("embedding.test_embedding_correctness", (rows, size), "float32")
        yield Case(name, launcher, like, args, 1e-6, 1e-5, "float32")


def list_layers() -> Iterator[Case]:
    """The tests, in the order of the report."""
    yield from list_rms_norm()
    yield from list_fused_add_rms_norm()
    yield from list_layer_norm()
    yield from list_group_norm()
    yield from list_poly_norm()
    yield from list_dyt()
    yield from list_rows()
    yield from list_gates()
    yield from list_rope()
    yield from list_multimodal_rope()
    yield from list_embedding()
