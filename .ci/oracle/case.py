"""Correct kernels with their references: the entries of `kernels/*.py`, and the data that they are called with."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch  # type: ignore[import-not-found]

# The kinds of data of `cerith_triton.check`, without NaN and infinities. Triton's maximum drops a NaN, and torch's keeps it.
FINITE = (
    "given",
    "zeros",
    "one-hot",
    "integers",
    "ties",
    "distinct",
    "normal",
    "tiny",
    "large",
    "cancelling",
)
KERNELS = Path(__file__).resolve().parent / "kernels"


class Make:
    """Argument tensors from one seed."""

    def __init__(self, seed: int = 0) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, *shape: int, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> torch.Tensor:
        """Normal numbers."""
        return (torch.randn(shape, generator=self.generator) * scale).to(dtype)

    def uniform(
        self, *shape: int, low: float = 0.0, high: float = 1.0, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        return (torch.rand(shape, generator=self.generator) * (high - low) + low).to(dtype)

    def ints(self, *shape: int, low: int = 0, high: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
        """Integers from `low`, below `high`."""
        return torch.randint(low, high, shape, generator=self.generator).to(dtype)

    def bools(self, *shape: int, share: float = 0.5) -> torch.Tensor:
        return torch.rand(shape, generator=self.generator) < share

    def permutation(self, n: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        return torch.randperm(n, generator=self.generator).to(dtype)


@dataclass(frozen=True)
class Case:
    """One launcher, and the function that it must equal.

    `args` returns the argument lists of some calls. A launcher that returns `None` changes its arguments, and `reference` returns the
    changed ones in order. `data` names the kinds of data for which the reference is defined (`check`'s parameter).
    """

    name: str
    launcher: Callable[..., Any]
    reference: Callable[..., Any]
    args: Callable[[Make], Sequence[Sequence[Any]]]
    kwargs: dict[str, Any] = field(default_factory=dict)
    data: str | tuple[str, ...] = "all"
    accumulate: str = "float32"


def load_module(path: Path, name: str) -> ModuleType:
    """Run a file of kernels as the module `name`."""
    folder = str(Path(__file__).resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_cases(path: Path, name: str) -> list[Case]:
    cases: list[Case] = load_module(path, name).CASES
    return cases


def list_outputs(result: Any, changed: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The tensors of a result, or the changed arguments if there is none."""
    if result is None:
        return list(changed)
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, dict):
        return list(result.values())
    return list(result)
