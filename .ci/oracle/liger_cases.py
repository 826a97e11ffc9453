"""Liger-Kernel's tests as launchers, reference functions and arguments. See `test_liger`.

Most of the library's references cast to float32. These are the same functions without casts, as `check` evaluates them in float64.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import types
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch  # type: ignore[import-not-found]
from case import FINITE, Make
from torch.nn import functional  # type: ignore[import-not-found]

Function = Callable[..., Any]
Tensors = dict[str, Any]
HALF = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
# Log-probabilities and targets that other data would replace by values out of their range.
GIVEN = ("given",)
# With `p == q`, the total variation distance has no gradient: the library's is -1/2, and torch's is 0.
UNEQUAL = ("given", "normal", "large")


@dataclass(frozen=True)
class Case:
    """One of the library's tests."""

    name: str
    launcher: Function
    reference: Function
    args: Callable[[Make], Sequence[Any]]
    atol: float
    rtol: float
    dtype: str
    data: tuple[str, ...] = FINITE

    @property
    def operation(self) -> str:
        return self.name.partition(".")[0]

    def make_args(self) -> list[Any]:
        """The arguments, the same each time."""
        return list(self.args(Make(zlib.crc32(self.name.encode()))))


def open_library() -> None:
    """Puts the library on the path, without the code of `liger_kernel.ops/__init__.py`, which imports all operations."""
    folder = Path(os.environ["CERITH_LIGER"], "src").resolve()
    sys.path.insert(0, str(folder))
    package = types.ModuleType("liger_kernel.ops")
    package.__path__ = [str(folder / "liger_kernel" / "ops")]
    sys.modules["liger_kernel.ops"] = package
    # It chooses settings by the device, and some of its functions need a GPU.
    utils = importlib.import_module("liger_kernel.utils")
    utils.infer_device = lambda: "cuda"


def load(module: str, name: str) -> Any:
    """`apply` of an autograd function of the library, which is imported at the first call."""

    def apply(*args: Any) -> Any:
        return getattr(importlib.import_module(f"liger_kernel.ops.{module}"), name).apply(*args)

    return apply


@contextlib.contextmanager
def catch_sums() -> Iterator[list[Any]]:
    """Collects the tensors of floats that the library sums with torch: they are its kernels' outputs.

    The kernels with a program for each multiprocessor get one, so that its part of a sum is the whole sum.
    """
    summed: list[Any] = []
    before = torch.sum, torch.Tensor.sum, torch.cuda.get_device_properties

    def note(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        # A mode of torch's calls the method again.
        if tensor.is_floating_point() and not any(one is tensor for one in summed):
            summed.append(tensor)
        return before[1](tensor, *args, **kwargs)

    torch.sum = torch.Tensor.sum = note
    torch.cuda.get_device_properties = lambda *_: types.SimpleNamespace(multi_processor_count=1)
    try:
        yield summed
    finally:
        torch.sum, torch.Tensor.sum, torch.cuda.get_device_properties = before


def differentiate(
    function: Function,
    inputs: Sequence[str],
    outputs: Sequence[str],
    sums: Sequence[str] = (),
    gradients: bool = True,
    omitted: Sequence[str] = (),
) -> Function:
    """A function with the outputs and gradients of `function` as results, by name, without those in `omitted`.

    Its first arguments are differentiated, and its last are the gradients of the outputs, of which a number is the same for all elements. `sums` names results which the library
    sums from its kernels' outputs, in the order of its last sums; the kernels' outputs take their place.
    """

    def run(*args: Any) -> Tensors:
        end = len(args) - len(outputs) if gradients else len(args)
        leaves = [one.detach().requires_grad_(gradients) for one in args[: len(inputs)]]
        with catch_sums() as summed:
            result = function(*leaves, *args[len(inputs) : end])
            results = list(result if isinstance(result, tuple) else (result,))[: len(outputs)]
            found: Tensors = {name: one.detach() for name, one in zip(outputs, results)}
            if gradients:
                upstream = [
                    one if isinstance(one, torch.Tensor) else torch.full_like(of, one) for one, of in zip(args[end:], results)
                ]
                grads = torch.autograd.grad(results, leaves, upstream)
                found.update({f"d{name}": one.detach() for name, one in zip(inputs, grads)})
        if sums:
            found.update(zip(sums, (one.detach() for one in summed[-len(sums) :])))
        return {name: one for name, one in found.items() if name not in omitted}

    return run


def pair(
    function: Function,
    reference: Function,
    inputs: Sequence[str],
    outputs: Sequence[str] = ("y",),
    sums: Sequence[str] = (),
    gradients: bool = True,
    omitted: Sequence[str] = (),
) -> tuple[Function, Function]:
    """A launcher and its reference function."""
    launcher = differentiate(function, inputs, outputs, sums, gradients, omitted)
    like = differentiate(reference, inputs, outputs, (), gradients, omitted)
    launcher.__name__, like.__name__ = getattr(function, "label", "launcher"), "reference"
    return launcher, like


def name_case(test: str, *parameters: Any) -> str:
    return f"{test}[{'-'.join('x'.join(map(str, one)) if isinstance(one, tuple) else str(one) for one in parameters)}]"


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
            name = name_case(f"rms_norm.{test}", shape, dtype, mode, f"in_place={in_place}", f"affine={affine}")
            inputs, sums = (("x", "weight"), ("dweight",)) if affine else (("x",), ())

            def args(make: Make, shape: Any = shape, dtype: str = dtype, rest: Any = (offset, mode, in_place), affine: bool = affine) -> Any:
                kind = HALF[dtype]
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
        for shape, (dtype, atol, rtol), (mode, offset), in_place in product(shapes, tolerances, chosen, (True, False)):
            name = name_case(f"fused_add_rms_norm.{test}", shape, dtype, mode, f"in_place={in_place}")

            def args(make: Make, shape: Any = shape, dtype: str = dtype, rest: Any = (offset, mode, in_place)) -> Any:
                kind = HALF[dtype]
                one, two, three, four = (make(*shape, dtype=kind) for _ in range(4))
                return [one, two, make(shape[-1], dtype=kind), 1e-6, *rest, three, four]

            launcher, like = pair(apply, fused_add_rms_norm, ("x", "residual", "weight"), ("y", "total"), ("dweight",))
            yield Case(name, launcher, like, args, atol, rtol, dtype)


def layer_norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    return functional.layer_norm(x, (x.shape[-1],), weight, bias, eps)


def list_layer_norm() -> Iterator[Case]:
    apply = load("layer_norm", "LigerLayerNormFunction")
    big = (((2, 8, 64), (4, 16, 128), (1, 1, 1023), (3, 7, 256), (1, 1, 1500)), "test_liger_layer_norm")
    small = (((2, 8, 64), (4, 16, 128), (3, 32, 128)), "test_liger_layer_norm_functional")
    for shapes, test in (big, small):
        for shape, (dtype, atol, rtol) in product(shapes, (("float32", 1e-5, 1e-5), ("bfloat16", 2e-2, 2e-2))):

            def args(make: Make, shape: Any = shape, dtype: str = dtype) -> Any:
                kind, size = HALF[dtype], shape[-1]
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

        def args(make: Make, batch: int = batch, channels: int = channels, groups: int = groups, size: int = size) -> Any:
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
        for shape, (dtype, atol, rtol) in product(shapes, (("float32", wide, 1e-6), ("bfloat16", narrow, relative))):

            def args(make: Make, shape: Any = shape, dtype: str = dtype) -> Any:
                kind = HALF[dtype]
                weight, bias = make(3, dtype=kind), make(dtype=kind)
                return [make(*shape, dtype=kind), weight, bias, 1e-6, False, make(*shape, dtype=kind)]

            launcher, like = pair(apply, poly_norm, ("x", "weight", "bias"), sums=("dweight", "dbias"))
            yield Case(name_case(f"poly_norm.{test}", shape, dtype), launcher, like, args, atol, rtol, dtype)


def dyt(x: Any, alpha: Any, gamma: Any, *beta: Any) -> Any:
    return sum(beta[:1], gamma * torch.tanh(alpha * x)) if beta[0] is not None else gamma * torch.tanh(alpha * x)


def list_dyt() -> Iterator[Case]:
    apply = load("dyt", "LigerDyTFunction")
    module = ((("float32", 1e-5, 1e-5),), "test_liger_dyt_correctness")
    functions = ((("float32", 1e-5, 1e-5), ("bfloat16", 1e-8, 5e-2)), "test_liger_dyt_functional")
    for tolerances, test in (module, functions):
        shapes = ((2, 2, 4096), (2, 4, 2048), (1, 1, 1023), (3, 7, 256))
        for shape, (dtype, atol, rtol), beta in product(shapes, tolerances, (False, True)):

            def args(make: Make, shape: Any = shape, dtype: str = dtype, beta: bool = beta) -> Any:
                kind = HALF[dtype]
                gamma, shift = make(shape[-1], dtype=kind), make(shape[-1], dtype=kind) if beta else None
                return [make(*shape, dtype=kind), make(1, dtype=kind), gamma, shift, make(*shape, dtype=kind)]

            inputs = ("x", "alpha", "gamma", "beta") if beta else ("x", "alpha", "gamma")
            sums = ("dbeta", "dgamma", "dalpha") if beta else ("dgamma", "dalpha")
            # Several programs store parts of `dalpha`.
            launcher, like = pair(apply, dyt, inputs, sums=sums, omitted=("dalpha",))
            yield Case(name_case(f"dyt.{test}", shape, dtype, f"beta={beta}"), launcher, like, args, atol, rtol, dtype)


# Functions of elements and rows.


def list_plain(operation: str, apply: Function, reference: Function, tests: Any) -> Iterator[Case]:
    """Functions of one tensor. `tests` has names, shapes and tolerances."""
    for (test, shapes, tolerances), rest in tests:
        for shape, (dtype, atol, rtol) in product(shapes, tolerances):

            def args(make: Make, shape: Any = shape, dtype: str = dtype, rest: Any = rest) -> Any:
                return [make(*shape, dtype=HALF[dtype]), *rest, make(*shape, dtype=HALF[dtype])]

            launcher, like = pair(apply, reference, ("x",))
            yield Case(name_case(f"{operation}.{test}", shape, dtype, *rest), launcher, like, args, atol, rtol, dtype)


def sparsemax(x: Any, dim: int) -> Any:
    ordered = torch.sort(x, dim=dim, descending=True).values.movedim(dim, -1)
    steps = torch.arange(1, ordered.shape[-1] + 1, dtype=x.dtype)
    support = 1 + steps * ordered > ordered.cumsum(-1)
    count = support.sum(-1, keepdim=True)
    tau = ((ordered * support).sum(-1, keepdim=True) - 1) / count
    return torch.clamp(x - tau.movedim(-1, dim), min=0)


def list_rows() -> Iterator[Case]:
    shapes = ((2, 8), (4, 16), (1, 1023), (3, 7, 256), (1, 4096), (1, 2, 4096))
    tolerances = (("float32", 1e-5, 1e-5), ("bfloat16", 5e-2, 5e-2))
    tests = [((test, shapes, tolerances), ()) for test in ("test_liger_softmax", "test_liger_softmax_functional")]
    softmax = load("softmax", "LigerSoftmaxFunction")
    yield from list_plain("softmax", softmax, lambda x: torch.softmax(x, -1), tests)
    shapes = ((2, 2, 4096), (2, 4, 2048), (1, 1, 1023), (3, 7, 256), (2, 8), (1, 4096))
    tolerances = (("float32", 1e-5, 1e-5), ("bfloat16", 1e-1, 5e-2))
    module = ("test_liger_relu_squared_correctness", shapes, tolerances)
    functions = ("test_liger_relu_squared_functional", ((2, 2, 4096), (1, 1, 1023), (2, 8)), tolerances)
    squared = load("relu_squared", "LigerReLUSquaredFunction")
    yield from list_plain("relu_squared", squared, lambda x: torch.relu(x).square(), [(module, ()), (functions, ())])
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
        (*geglu, "test_correctness", ((2, 2, 4096), (3, 1, 4231)), (("float32", 1e0, 2e-6), ("bfloat16", 1e-2, 1e-2))),
    )
    for operation, apply, reference, test, shapes, tolerances in tests:
        for shape, (dtype, atol, rtol) in product(shapes, tolerances):

            def args(make: Make, shape: Any = shape, dtype: str = dtype) -> Any:
                return [make(*shape, dtype=HALF[dtype]) for _ in range(3)]

            launcher, like = pair(apply, reference, ("a", "b"))
            yield Case(name_case(f"{operation}.{test}", shape, dtype), launcher, like, args, atol, rtol, dtype)


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
    big = ((1, 8, 32, 32, 64), (2, 4, 32, 32, 64), (1, 8, 32, 8, 64), (2, 8, 32, 8, 64), (3, 1, 73, 213, 92), (3, 1, 73, 155, 92))
    small = ((1, 2, 2, 2, 8), (1, 2, 1, 2, 8), (1, 7, 41, 41, 41))
    tolerances = (("float32", 1e-5, 1e-5), ("bfloat16", 1e-1, 1e-5), ("float16", 1e-2, 1e-5))
    for shapes, test in ((big, "test_correctness"), (small, "test_functional_correctness")):
        for shape, (dtype, atol, rtol), expands in product(shapes, tolerances, (True, False)):
            batch, length, queries, keys, size = shape

            def args(make: Make, shape: Any = shape, dtype: str = dtype, expands: bool = expands) -> Any:
                batch, length, queries, keys, size = shape
                kind = HALF[dtype]
                positions = torch.arange(length).expand(batch if expands else 1, -1)
                heads = [make(batch, count, length, size, dtype=kind) for count in (queries, keys) * 2]
                return [*heads[:2], *make_angles(positions, size, kind), *heads[2:]]

            if size % 2:
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
                kind = HALF[dtype]
                positions = torch.arange(3 * batch * length).view(3, batch, length)
                heads = [make(batch, count, length, size, dtype=kind) for count in (queries, keys) * 2]
                return [*heads[:2], *make_angles(positions, size, kind), list(section), *heads[2:]]

            launcher, like = pair(apply, multimodal_rope, ("q", "k"), ("q", "k"))
            name = name_case(f"qwen2vl_mrope.{test}", shape[:5], dtype)
            yield Case(name, launcher, like, args, atol, rtol, dtype)


# Losses. The kernels store a loss for each row or element, which the library sums with torch.


def kl_div(x: Any, target: Any, reduction: str, log_target: bool, _eps: float) -> Any:
    losses = functional.kl_div(x, target, reduction="none", log_target=log_target)
    return losses if reduction == "none" else losses.sum(-1)


def list_kl_div() -> Iterator[Case]:
    apply = load("kl_div", "LigerKLDivLossFunction")
    tolerances = (("bfloat16", 1e-8, 5e-2), ("float32", 1e-8, 1e-6), ("float16", 1e-3, 1e-3))
    reductions = ("batchmean", "sum", "mean", "none")
    for shape, (dtype, atol, rtol), reduction, log in product(((1, 4096), (5, 1271)), tolerances, reductions, (True, False)):

        def args(make: Make, shape: Any = shape, dtype: str = dtype, reduction: str = reduction, log: bool = log) -> Any:
            x = make(*shape).log_softmax(-1).to(HALF[dtype])
            target = make(*shape).log_softmax(-1) if log else make(*shape).softmax(-1)
            upstream = [1.0] if reduction == "sum" else []
            return [x, target, reduction, log, 1e-10, *upstream]

        # Torch scales the gradients of the other reductions.
        sums = () if reduction == "none" else ("loss",)
        launcher, like = pair(apply, kl_div, ("x",), ("loss",), sums, reduction == "sum")
        name = name_case("kl_div.test_correctness", shape, dtype, reduction, f"log_target={log}")
        yield Case(name, launcher, like, args, atol, rtol, dtype, GIVEN)


def jsd(x: Any, target: Any, label: Any, beta: float, ignored: int) -> Any:
    q, p = x.exp(), target.exp()
    if beta == 0.0:
        losses = p * (target - x)
    elif beta == 1.0:
        losses = q * (x - target)
    else:
        mean = (beta * p + (1 - beta) * q).log()
        losses = beta * p * (target - mean) + (1 - beta) * q * (x - mean)
    if label is None:
        return losses / x.shape[0]
    kept = label != ignored
    return torch.where(kept[:, None], losses, torch.zeros_like(losses)) / max(int(kept.sum()), 1)


def make_labels(make: Make, rows: int, columns: int, ignored: int) -> Any:
    """Labels of which every third is ignored."""
    label = make.ints(rows, high=columns, dtype=torch.int64)
    label[::3] = ignored
    return label


def list_jsd() -> Iterator[Case]:
    apply = load("jsd", "LigerJSDFunction")
    tolerances = (("bfloat16", 1e-7, 5e-2), ("float32", 1e-7, 1e-6), ("float16", 1e-3, 1e-3))
    plain = [("test_correctness", 0.5, None)]
    betas = [("test_correctness_with_beta", beta, None) for beta in (0.0, 0.1, 0.5, 0.9, 1.0)]
    ignores = [("test_correctness_with_ignore_index", 0.5, index) for index in (2, 42)]
    functions = [("test_correctness_functional", 0.5, 2), ("test_correctness_functional", 0.1, 42)]
    variants = plain + betas + ignores + functions
    for shape, (dtype, atol, rtol), (test, beta, ignored) in product(((4, 3200), (7, 1271)), tolerances, variants):

        def args(make: Make, shape: Any = shape, dtype: str = dtype, beta: float = beta, ignored: Any = ignored) -> Any:
            x, target = (make(*shape).log_softmax(-1).to(HALF[dtype]) for _ in range(2))
            label = None if ignored is None else make_labels(make, *shape, ignored)
            return [x, target, label, beta, -100 if ignored is None else ignored, 1.0]

        launcher, like = pair(apply, jsd, ("x",), ("loss",), ("loss",))
        name = name_case(f"jsd.{test}", shape, dtype, f"beta={beta}", f"ignore_index={ignored}")
        yield Case(name, launcher, like, args, atol, rtol, dtype, GIVEN)


def tvd(p: Any, q: Any, label: Any, reduction: str, ignored: int) -> Any:
    losses = (p - q).abs() / 2
    count = p.shape[0]
    if label is not None:
        kept = label != ignored
        losses, count = torch.where(kept[:, None], losses, torch.zeros_like(losses)), int(kept.sum())
    scale = {"batchmean": count, "mean": count * p.shape[1]}.get(reduction, 1)
    return losses if reduction == "none" else losses.sum(-1) / scale


def list_tvd() -> Iterator[Case]:
    apply = load("tvd", "LigerTVDLossFunction")
    shapes = ((1, 4096), (8, 1024), (5, 1271), (3, 4000))
    plain = [("test_correctness", None)]
    ignores = [("test_correctness_with_ignore_index", index) for index in (-100, 0, 1)]
    reductions = ("batchmean", "sum", "mean", "none")
    for shape, dtype, reduction, (test, ignored) in product(shapes, ("bfloat16", "float32"), reductions, plain + ignores):

        def args(make: Make, shape: Any = shape, dtype: str = dtype, reduction: str = reduction, ignored: Any = ignored) -> Any:
            label = None if ignored is None else make_labels(make, *shape, ignored)
            upstream = [] if reduction == "none" else [1.0]
            q = make(*shape).softmax(-1)
            index = -100 if ignored is None else ignored
            return [make(*shape, dtype=HALF[dtype]), q, label, reduction, index, *upstream]

        if ignored is not None and shape[0] == 1:
            continue  # All rows are ignored.
        sums = () if reduction == "none" else ("loss",)
        launcher, like = pair(apply, tvd, ("p",), ("loss",), sums, reduction != "none")
        name = name_case(f"tvd.{test}", shape, dtype, reduction, f"ignore_index={ignored}")
        yield Case(name, launcher, like, args, 1e-8, 1e-6, dtype, FINITE if reduction == "none" else UNEQUAL)


def cross_entropy(x: Any, target: Any, weight: Any, ignored: int, square: float, smoothing: float, reduction: str, cap: Any, *_rest: Any) -> Any:
    """A loss for each row, and its part that is the square of the log-sum-exp."""
    if cap is not None:
        x = cap * torch.tanh(x / cap)
    kept = target != ignored
    losses = functional.cross_entropy(
        x, target, weight=weight, ignore_index=ignored, label_smoothing=smoothing, reduction="none"
    )
    squares = torch.where(kept, square * torch.logsumexp(x, -1) ** 2, torch.zeros_like(losses))
    if reduction == "mean":
        count = int(kept.sum())
        losses = losses / (count if weight is None else weight[target[kept]].sum())
        squares = squares / count
    return losses + squares, squares


@dataclass(frozen=True)
class Loss:
    """Parameters of a test of the cross entropy."""

    test: str
    ignored: int = -100
    square: float = 0.0
    smoothing: float = 0.0
    reduction: str = "mean"
    cap: float | None = None
    weighted: bool = False
    last: bool = True
    returns_square: bool = False


def list_losses(odd: bool) -> Iterator[Loss]:
    """The library's parameters for its plain and its odd shape."""
    ignored, smoothing = (-123, 0.2) if odd else (2, 0.1)
    for reduction in ("sum", "mean", "none"):
        yield Loss("test_correctness", reduction=reduction)
        yield Loss("test_correctness_with_ignore_index", ignored, reduction=reduction)
        yield Loss("test_correctness_with_softcap_once", cap=30.0, reduction=reduction)
        yield Loss("test_correctness_with_weight_once", weighted=True, reduction=reduction)
        yield Loss("test_correctness_with_forward_only", 2 if odd else -100, reduction=reduction)
    yield Loss("test_correctness_with_label_smoothing_once", smoothing=0.1)
    yield Loss("test_correctness_with_label_smoothing_with_ignore_index_once", -300 if odd else 1, smoothing=smoothing)
    for square, shown in product((1e-4, 1e-5), (True, False)):
        yield Loss("test_correctness_with_z_loss_once", square=square, returns_square=shown)
    for shown, square in ((True, 1e-4), (False, 1e-5)):
        name = "test_correctness_with_z_loss_with_other_params_once"
        yield Loss(name, 42, square, 0.1, "mean", returns_square=shown)
        yield Loss(name, -42, square, 0.2, "sum", returns_square=shown)
    for reduction in ("sum", "mean"):
        yield Loss("test_correctness_not_last_layer", reduction=reduction, last=False)
        for index, square, amount, cap in ((-100, 1e-4, 0.1, 30.0), (42, 1e-5, 0.2, 40.0)):
            name = "test_correctness_not_last_layer_with_other_params"
            yield Loss(name, index, square, amount, reduction, cap, last=False)


def list_cross_entropy() -> Iterator[Case]:
    apply = load("cross_entropy", "LigerCrossEntropyFunction")
    tolerances = (("bfloat16", 1e-8, 5e-2), ("float32", 1e-8, 1e-6))
    for shape, (dtype, atol, rtol) in product(((4, 2000), (5, 1271)), tolerances):
        for loss in list_losses(odd=shape == (5, 1271)):
            yield make_loss_case(apply, loss, shape, dtype, atol, rtol)
    functions = Loss("test_correctness_functional", 0, 1e-4, 0.1, "mean", 30.0, returns_square=True)
    for shape, (dtype, atol, rtol) in product(((4, 8), (63, 41)), tolerances):
        yield make_loss_case(apply, functions, shape, dtype, atol, rtol)


def make_loss_case(apply: Function, loss: Loss, shape: tuple[int, int], dtype: str, atol: float, rtol: float) -> Case:
    # With `none`, torch multiplies the gradients.
    gradients = loss.reduction != "none" and loss.test != "test_correctness_with_forward_only"
    outputs = ("loss", "square") if loss.returns_square else ("loss",)

    def args(make: Make) -> Any:
        x, target = make(*shape, dtype=HALF[dtype]), make.ints(shape[0], high=shape[1], dtype=torch.int64)
        target[1::3] = loss.ignored if loss.ignored != -100 else target[1::3]
        weight = make.uniform(shape[1]) if loss.weighted else None
        upstream = [1.0 if loss.last else 3.0, 0.0][: len(outputs)]
        options = (loss.ignored, loss.square, loss.smoothing, loss.reduction, loss.cap, loss.returns_square, False, False)
        return [x, target, weight, *options, *(upstream if gradients else [])]

    sums = () if loss.reduction == "none" else outputs
    launcher, like = pair(apply, cross_entropy, ("x",), outputs, sums, gradients)
    parts = [f"{name}={value}" for name, value in vars(loss).items() if name != "test" and value != Loss.__dict__[name]]
    name = name_case(f"cross_entropy.{loss.test}", shape, dtype, *parts)
    return Case(name, launcher, like, args, atol, rtol, dtype)


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


def list_cases() -> Iterator[Case]:
    open_library()
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
    yield from list_kl_div()
    yield from list_jsd()
    yield from list_tvd()
    yield from list_cross_entropy()
    yield from list_embedding()


CASES = list(list_cases())
