"""The tensors that depend on the elements of a function's arguments, as torch's operators show.

A function such as `torch.zeros_like` depends on shapes only.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from .. import arguments

# Operators that read no elements.
_SHAPES_ONLY = frozenset(
    f"aten.{name}"
    for name in (
        *("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like"),
        *("new_empty", "new_empty_strided", "new_zeros", "new_ones", "new_full"),
    )
)


class DataFlow:
    """Follows the elements of tensors through torch's operators."""

    def __init__(self, values: Any) -> None:
        """`values` has the arguments of a function."""
        self._storages: set[Any] = set()
        self._has_left = False
        """Whether an element became a number of Python's."""
        arguments.map_tensors(values, self._add)

    @contextlib.contextmanager
    def watch(self) -> Iterator[None]:
        """A context whose operators are followed."""
        from torch.utils._python_dispatch import TorchDispatchMode

        flow = self

        class FlowMode(TorchDispatchMode):  # type: ignore[misc]
            """Notes each operator."""

            def __torch_dispatch__(
                self, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
            ) -> Any:
                given = kwargs or {}
                result = function(*args, **given)
                flow._note(function, args, given, result)
                return result

        with FlowMode():
            yield

    def is_reached(self, tensor: Any) -> bool:
        """Whether a tensor depends on elements of the arguments, as far as is known."""
        return self._has_left or not arguments.is_torch(tensor) or self._holds(tensor)

    def _note(self, function: Any, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        if str(function).rpartition(".")[0] in _SHAPES_ONLY or not self._holds_any([args, kwargs]):
            return
        found: list[Any] = []
        arguments.map_tensors(result, found.append)
        names = [one.name for one in function._schema.arguments]
        given = {**dict(zip(names, args)), **kwargs}
        for one in function._schema.arguments:
            if one.alias_info is not None and one.alias_info.is_write:
                arguments.map_tensors(given.get(one.name), found.append)
        for tensor in found:
            self._add(tensor)
        self._has_left |= not found

    def _holds_any(self, values: Any) -> bool:
        found: list[Any] = []
        arguments.map_tensors(values, found.append)
        return any(self._holds(one) for one in found)

    def _add(self, tensor: Any) -> None:
        if arguments.is_torch(tensor):
            self._storages.add(_refer_to(tensor))
        else:
            # NumPy's functions are not followed.
            self._has_left = True

    def _holds(self, tensor: Any) -> bool:
        return arguments.is_torch(tensor) and _refer_to(tensor) in self._storages


def _refer_to(tensor: Any) -> Any:
    """A reference that keeps no memory. While it exists, no other storage equals it. All tensors without a
    storage have the same one."""
    from torch.multiprocessing.reductions import StorageWeakRef

    try:
        return StorageWeakRef(tensor.untyped_storage())
    except (RuntimeError, NotImplementedError):
        return None
