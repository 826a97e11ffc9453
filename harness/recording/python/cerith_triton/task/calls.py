"""Calls of a function, and the same calls with other sizes.

A dimension of a tensor is replaced in all tensors, and among the other arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Sequence

import numpy as np

from .. import arguments, formats
from ..arguments import Copies
from .trial import Inputs, copy_tensor

# Smaller integers among arguments are dimensions and flags.
_MIN_SIZE = 8


@dataclass(frozen=True)
class CapturedCall:
    """A call of a function, with its arguments as they were."""

    args: Sequence[Any]
    kwargs: Mapping[str, Any]

    @classmethod
    def from_arguments(cls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> CapturedCall:
        """A call with copies of arguments."""
        copies = Copies()

        def copy(tensor: Any) -> Any:
            try:
                return copy_tensor(copies, tensor)
            except (TypeError, RuntimeError, NotImplementedError):
                # Complex and sparse tensors have no form in a message, which is reported later.
                return tensor

        # The function writes to an output of the caller's.
        kept = {name: one for name, one in kwargs.items() if name != "out"}
        return cls(arguments.map_tensors(list(args), copy), arguments.map_tensors(kept, copy))

    @property
    def tensors(self) -> list[Any]:
        """The tensors among the arguments, each once."""
        return [one.tensor for one in arguments.find_arguments((), self.args, self.kwargs)]

    @property
    def sizes(self) -> list[int]:
        """The dimensions of more than one element, each once."""
        found = (int(size) for tensor in self.tensors for size in tensor.shape)
        return list(dict.fromkeys(size for size in found if size > 1))

    def resize(
        self, sizes: Sequence[int], seed: int, varies_numbers: bool = False, permutes: bool = False
    ) -> Inputs:
        """Its inputs with other sizes, in the order of `sizes`; values are drawn from those that it has. With
        `varies_numbers`, floats among the arguments change too. With `permutes`, tensors of integers that
        keep their shape are permuted too."""
        change = dict(zip(self.sizes, sizes))
        source = np.random.default_rng(seed)
        made: dict[int, Any] = {}

        def replace(value: Any) -> Any:
            if arguments.is_tensor(value):
                if id(value) not in made:
                    made[id(value)] = _resize_tensor(value, change, source, permutes)
                return made[id(value)]
            if varies_numbers and type(value) is float:
                return _vary_number(value, source)
            return _replace_sizes(value, change)

        return Inputs(
            [_map_values(one, replace) for one in self.args],
            {name: _map_values(one, replace) for name, one in self.kwargs.items()},
        )

    def describe(self, inputs: Inputs) -> str:
        """The shapes of inputs, for a reader: `float32[3, 29], 1e-05, dim=1`."""
        found = [_describe_value(one) for one in inputs.args]
        found += [f"{name}={_describe_value(one)}" for name, one in inputs.kwargs.items()]
        return ", ".join(found)[:300]


def _map_values(value: Any, change: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(_map_values(one, change) for one in value)
    return change(value)


def _replace_sizes(value: Any, change: Mapping[int, int]) -> Any:
    """An integer that is a size, replaced; any other value as it is."""
    if type(value) is int and value > _MIN_SIZE:
        return change.get(value, value)
    if type(value).__name__ == "Size":
        return type(value)(change.get(one, one) for one in value)
    return value


def _vary_number(value: float, source: np.random.Generator) -> float:
    """Another float on the same side of 1, so that a probability stays one. 0 and infinities stay."""
    if value == 0 or not np.isfinite(value):
        return value
    low, high = (0.4, 0.95) if abs(value) <= 1 else (1.05, 1.6)
    return float(f"{value * source.uniform(low, high):.3g}")


def _resize_tensor(
    tensor: Any, change: Mapping[int, int], source: np.random.Generator, permutes: bool
) -> Any:
    """A tensor of another shape. If the shape stays, floats are permuted: the values of a test are known."""
    torch = arguments.torch_of()
    shape = tuple(int(size) for size in tensor.shape)
    wanted = tuple(change.get(size, size) for size in shape)
    dtype = arguments.dtype_of(tensor)
    if wanted == shape:
        made = copy_tensor(Copies(), tensor)
        if (permutes or formats.is_float(dtype)) and tensor.numel() > 1:
            order = torch.from_numpy(source.permutation(int(tensor.numel())))
            made.copy_(tensor.detach().reshape(-1)[order].reshape(shape))
        return made
    flat = tensor.detach().reshape(-1)
    count = int(np.prod(wanted, dtype=np.int64))
    drawn = flat[torch.from_numpy(source.integers(0, max(len(flat), 1), count))].reshape(wanted)
    return drawn if formats.is_float(dtype) or dtype == "bool" else _limit_indices(drawn, tensor, change)


def _limit_indices(drawn: Any, original: Any, change: Mapping[int, int]) -> Any:
    """Integers that may be indices of a dimension, below the dimension's new size."""
    largest = int(original.max()) if original.numel() else 0
    bounds = [new for old, new in change.items() if largest < old and new < old]
    return drawn % min(bounds) if bounds and int(drawn.min()) >= 0 else drawn


def _describe_value(value: Any) -> str:
    if arguments.is_tensor(value):
        return f"{arguments.dtype_of(value)}{[int(size) for size in value.shape]}"
    return repr(value)[:40]
