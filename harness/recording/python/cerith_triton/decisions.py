"""Values of data that host code reads, such as by `.item()`. A submission that has them may decide by data.

Tensors that a submission makes of nothing, such as `torch.tensor(0.5)`, are constants, until they meet data.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, Iterator

from .arguments import is_torch

# Functions of torch that return elements, or as many as the elements decide.
_READS = frozenset(
    (
        "__array__",
        "__bool__",
        "__complex__",
        "__contains__",
        "__dlpack__",
        "__float__",
        "__format__",
        "__index__",
        "__int__",
        "__repr__",
        "_local_scalar_dense",
        "_typed_storage",
        "_unique2",
        "allclose",
        "argwhere",
        "equal",
        "is_nonzero",
        "item",
        "masked_select",
        "nonzero",
        "numpy",
        "storage",
        "tolist",
        "unique",
        "unique_consecutive",
        "untyped_storage",
    )
)


class Decisions:
    """Observes functions of torch while a submission runs."""

    def __init__(self, path: str, is_written: Callable[[Any], bool]) -> None:
        """`path` is the submission's file. `is_written` finds tensors that a launch wrote."""
        self._path = path
        self._is_written = is_written
        # Addresses of storages that hold constants.
        self._constants: set[int] = set()
        self.found: tuple[str, int | None] | None = None
        """The first function that read data, and the line of the file."""

    def record_call(self, function: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Records a call of a function of torch."""
        given = [*_list_tensors(args), *_list_tensors(kwargs)]
        name = getattr(function, "__name__", "")
        has_data = any(_find_address(one) not in self._constants or self._is_written(one) for one in given)
        if has_data and name in _READS and self.found is None:
            self._note(name)
        made = {_find_address(one) for one in _list_tensors(result)}
        if has_data:
            # A function may write to any of its arguments.
            self._constants -= {*made, *map(_find_address, given)}
        else:
            self._constants |= made

    def _note(self, name: str) -> None:
        frame: Any = sys._getframe(1)
        while frame.f_code.co_name in ("record_call", "__torch_function__"):
            frame = frame.f_back
        while frame is not None and "site-packages" in frame.f_code.co_filename:
            frame = frame.f_back
        if frame is None or "cerith_" in frame.f_code.co_filename:
            # The judge reads tensors itself.
            return
        while frame is not None and frame.f_code.co_filename != self._path:
            frame = frame.f_back
        self.found = (name, None if frame is None else frame.f_lineno)


def _list_tensors(value: Any) -> Iterator[Any]:
    if is_torch(value):
        yield value
    elif type(value) in (list, tuple):
        for one in value:
            yield from _list_tensors(one)
    elif type(value) is dict:
        yield from _list_tensors(list(value.values()))


def _find_address(tensor: Any) -> int:
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError):
        return 0
