"""torch's functions with shapes only (the device `meta`), and the elements and operations that they have."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from .. import arguments

# Functions that make a tensor.
_FACTORIES = frozenset(
    (
        *(
            "arange",
            "as_tensor",
            "empty",
            "empty_permuted",
            "empty_strided",
            "eye",
            "full",
            "linspace",
            "logspace",
        ),
        *("normal", "ones", "rand", "randint", "randn", "randperm", "scalar_tensor", "tensor", "zeros"),
        *(
            "tril_indices",
            "triu_indices",
            "bartlett_window",
            "blackman_window",
            "hamming_window",
            "hann_window",
        ),
    )
)


class WorkLimit(Exception):  # noqa: N818 (a limit, as `exhausted` is)
    """A function with more operations than its limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"more than {limit} operations")


def make_shapes() -> Any:
    """A context in which new tensors have shapes and no elements."""
    from torch.overrides import TorchFunctionMode

    torch = arguments.torch_of()

    class ShapeMode(TorchFunctionMode):  # type: ignore[misc]
        """Replaces devices in the arguments of torch's functions."""

        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            name = getattr(function, "__name__", "")
            given = dict(kwargs or {})
            if name == "cuda" and args and isinstance(args[0], torch.Tensor):
                return args[0]
            if name == "to":
                args = tuple("meta" if _is_device(one) else one for one in args)
            if name in _FACTORIES or given.get("device") is not None:
                given["device"] = "meta"
            return function(*args, **given)

    return ShapeMode()


def _is_device(value: Any) -> bool:
    if isinstance(value, arguments.torch_of().device):
        return True
    return isinstance(value, str) and value.partition(":")[0] in ("cuda", "cpu")


class Meter:
    """The operations of torch's functions while it is entered."""

    def __init__(self, limit: int = 1 << 62) -> None:
        self.work = 0
        """Multiplications of matrices and convolutions, and elements of other results."""
        self.has_converted = False
        """Whether floats became integers."""
        self._limit = limit

    @contextlib.contextmanager
    def watch(self) -> Iterator[None]:
        """A context whose operations are counted. Raises `WorkLimit` after the first one above the limit."""
        from torch.utils._python_dispatch import TorchDispatchMode

        meter = self

        class CountMode(TorchDispatchMode):  # type: ignore[misc]
            """Counts after each operation."""

            def __torch_dispatch__(
                self, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
            ) -> Any:
                result = function(*args, **(kwargs or {}))
                meter.note(str(function), args, result)
                return result

        with CountMode():
            yield

    def note(self, name: str, args: Any, result: Any) -> None:
        """Adds an operation, by its name: `aten.mm.default`."""
        operation = name.split(".")[1] if name.count(".") else name
        self.work += _count(operation, args, result)
        self.has_converted |= operation == "_to_copy" and _is_conversion(args[0], result)
        if self.work > self._limit:
            raise WorkLimit(self._limit)


def _is_conversion(before: Any, after: Any) -> bool:
    return bool(
        before.is_floating_point()
        and not after.is_floating_point()
        and after.dtype != arguments.torch_of().bool
    )


def _count(operation: str, args: Any, result: Any) -> int:
    if operation in ("mm", "bmm"):
        return int(args[0].numel()) * int(args[1].shape[-1])
    if operation in ("addmm", "baddbmm"):
        return int(args[1].numel()) * int(args[2].shape[-1])
    if operation in ("convolution", "_convolution"):
        transposed = len(args) > 6 and bool(args[6])
        weight, base = args[1], args[0] if transposed else result
        return int(base.numel()) * int(weight.numel()) // max(int(weight.shape[0]), 1)
    if "scaled_dot_product" in operation:
        return 2 * int(args[0].numel()) * int(args[1].shape[-2])
    return count_elements(result)


def count_elements(value: Any) -> int:
    """The elements of the tensors in a value."""
    found: list[Any] = []
    arguments.map_tensors(value, found.append)
    return sum(int(one.numel()) if hasattr(one, "numel") else int(one.size) for one in found)
