"""Liger-Kernel's tests of losses. The kernels store a loss for each row or element, which the library sums with torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch  # type: ignore[import-not-found]
from case import FINITE, Make
from liger import DTYPES, Case, Function, load, name_case, pair
from torch.nn import functional  # type: ignore[import-not-found]

# Log-probabilities and targets that other data would replace by values out of their range.
GIVEN = ("given",)
# With `p == q`, the total variation distance has no gradient: the library's is -1/2, and torch's is 0.
UNEQUAL = ("given", "normal", "large")


def kl_div(x: Any, target: Any, reduction: str, log_target: bool, _eps: float) -> Any:
    losses = functional.kl_div(x, target, reduction="none", log_target=log_target)
    return losses if reduction == "none" else losses.sum(-1)


def list_kl_div() -> Iterator[Case]:
    apply = load("kl_div", "LigerKLDivLossFunction")
    tolerances = (("bfloat16", 1e-8, 5e-2), ("float32", 1e-8, 1e-6), ("float16", 1e-3, 1e-3))
    reductions = ("batchmean", "sum", "mean", "none")
    for shape, (dtype, atol, rtol), reduction, log in product(
        ((1, 4096), (5, 1271)), tolerances, reductions, (True, False)
    ):

        def args(
            make: Make, shape: Any = shape, dtype: str = dtype, reduction: str = reduction, log: bool = log
        ) -> Any:
            x = make(*shape).log_softmax(-1).to(DTYPES[dtype])
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


def make_labels(make: Make, shape: tuple[int, int], ignored: int) -> Any:
    """Labels. Every third is ignored."""
    label = make.ints(shape[0], high=shape[1], dtype=torch.int64)
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
    for shape, (dtype, atol, rtol), (test, beta, ignored) in product(
        ((4, 3200), (7, 1271)), tolerances, variants
    ):

        def args(
            make: Make, shape: Any = shape, dtype: str = dtype, beta: float = beta, ignored: Any = ignored
        ) -> Any:
            x, target = (make(*shape).log_softmax(-1).to(DTYPES[dtype]) for _ in range(2))
            label = None if ignored is None else make_labels(make, shape, ignored)
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
    plain: list[tuple[str, int | None]] = [("test_correctness", None)]
    plain += [("test_correctness_with_ignore_index", index) for index in (-100, 0, 1)]
    reductions = ("batchmean", "sum", "mean", "none")
    for shape, dtype, reduction, (test, ignored) in product(
        shapes, ("bfloat16", "float32"), reductions, plain
    ):

        def args(
            make: Make,
            shape: Any = shape,
            dtype: str = dtype,
            reduction: str = reduction,
            ignored: Any = ignored,
        ) -> Any:
            label = None if ignored is None else make_labels(make, shape, ignored)
            upstream = [] if reduction == "none" else [1.0]
            q = make(*shape).softmax(-1)
            index = -100 if ignored is None else ignored
            return [make(*shape, dtype=DTYPES[dtype]), q, label, reduction, index, *upstream]

        if ignored is not None and shape[0] == 1:
            continue  # All rows are ignored.
        sums = () if reduction == "none" else ("loss",)
        launcher, like = pair(apply, tvd, ("p",), ("loss",), sums, reduction != "none")
        name = name_case(f"tvd.{test}", shape, dtype, reduction, f"ignore_index={ignored}")
        yield Case(name, launcher, like, args, 1e-8, 1e-6, dtype, FINITE if reduction == "none" else UNEQUAL)


def cross_entropy(
    x: Any,
    target: Any,
    weight: Any,
    ignored: int,
    square: float,
    smoothing: float,
    reduction: str,
    cap: Any,
    *_rest: Any,
) -> Any:
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
    yield Loss(
        "test_correctness_with_label_smoothing_with_ignore_index_once",
        -300 if odd else 1,
        smoothing=smoothing,
    )
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


def make_loss_case(
    apply: Function, loss: Loss, shape: tuple[int, int], dtype: str, atol: float, rtol: float
) -> Case:
    # With `none`, torch multiplies the gradients.
    gradients = loss.reduction != "none" and loss.test != "test_correctness_with_forward_only"
    outputs = ("loss", "square") if loss.returns_square else ("loss",)

    def args(make: Make) -> Any:
        x, target = make(*shape, dtype=DTYPES[dtype]), make.ints(shape[0], high=shape[1], dtype=torch.int64)
        target[1::3] = loss.ignored if loss.ignored != -100 else target[1::3]
        weight = make.uniform(shape[1]) if loss.weighted else None
        upstream = [1.0 if loss.last else 3.0, 0.0][: len(outputs)]
        options = (
            loss.ignored,
            loss.square,
            loss.smoothing,
            loss.reduction,
            loss.cap,
            loss.returns_square,
            False,
            False,
        )
        return [x, target, weight, *options, *(upstream if gradients else [])]

    sums = () if loss.reduction == "none" else outputs
    launcher, like = pair(apply, cross_entropy, ("x",), outputs, sums, gradients)
    parts = [
        f"{name}={value}"
        for name, value in vars(loss).items()
        if name != "test" and value != Loss.__dict__[name]
    ]
    name = name_case(f"cross_entropy.{loss.test}", shape, dtype, *parts)
    return Case(name, launcher, like, args, atol, rtol, dtype)


def linear_cross_entropy(x: Any, weight: Any, target: Any, *rest: Any) -> Any:
    bias, _weight, ignored, square, smoothing, reduction, cap = rest[:7]
    return cross_entropy(
        functional.linear(x, weight, bias), target, None, ignored, square, smoothing, reduction, cap
    )


def list_linear_cross_entropy() -> Iterator[Case]:
    """Torch multiplies matrices before and after the kernel. Its losses for each row are compared."""
    apply = load("fused_linear_cross_entropy", "LigerFusedLinearCrossEntropyFunction")
    tolerances = (
        ("mean", "bfloat16", 5e-3, 5e-2),
        ("mean", "float32", 1e-5, 5e-4),
        ("sum", "bfloat16", 5e0, 5e1),
        ("sum", "float32", 1e-3, 5e-2),
    )
    for reduction, dtype, atol, rtol in tolerances:

        def args(make: Make, dtype: str = dtype, reduction: str = reduction) -> Any:
            x, weight = make(188, 31, dtype=DTYPES[dtype]), make(123, 31, dtype=DTYPES[dtype], scale=0.2)
            target = make.ints(188, high=123, dtype=torch.int64)
            return [x, weight, target, None, None, -100, 0.0, 0.0, reduction, None]

        launcher, like = pair(apply, linear_cross_entropy, ("x", "weight"), ("loss",), ("loss",), False)
        name = name_case("fused_linear_cross_entropy.test_correctness", (188, 31, 123), dtype, reduction)
        yield Case(name, launcher, like, args, atol, rtol, dtype, ("given",))


def list_all_losses() -> Iterator[Case]:
    """The tests, in the order of the report."""
    yield from list_kl_div()
    yield from list_jsd()
    yield from list_tvd()
    yield from list_cross_entropy()
    yield from list_linear_cross_entropy()
