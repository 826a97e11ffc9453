"""Liger-Kernel's functions and their reference functions, in one form. See `liger_layers` and `liger_losses` for the tests."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import types
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch  # type: ignore[import-not-found]
from case import FINITE, Make

Function = Callable[..., Any]
Tensors = dict[str, Any]
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


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
    named = os.environ.get("CERITH_LIGER", "")
    folder = Path(named, "src").resolve()
    if not named or not (folder / "liger_kernel").is_dir():
        raise SystemExit(f"CERITH_LIGER is `{named}`: name a clone of github.com/linkedin/Liger-Kernel")
    sys.path.insert(0, str(folder))
    package = types.ModuleType("liger_kernel.ops")
    package.__path__ = [str(folder / "liger_kernel" / "ops")]
    sys.modules["liger_kernel.ops"] = package
    # It chooses settings by the device, and some of its functions need a GPU.
    utils: Any = importlib.import_module("liger_kernel.utils")
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
                    one if isinstance(one, torch.Tensor) else torch.full_like(of, one)
                    for one, of in zip(args[end:], results)
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
