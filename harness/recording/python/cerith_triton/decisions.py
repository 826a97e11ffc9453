"""Values of data that host code reads, such as by `.item()`. A submission that has them may decide by data.

Tensors that a submission makes of nothing, such as `torch.tensor(0.5)`, are constants, until they meet data.
torch's functions show reads by Python. Its operators show those inside of functions, callbacks and scripts.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Iterable, Iterator

from .arguments import is_torch

# Functions that share the memory of a tensor with others, so that a constant is read after data is written
# to it.
_SHARES = frozenset(
    ("__array__", "__dlpack__", "_typed_storage", "numpy", "storage", "to_dlpack", "untyped_storage")
)

# Functions of torch that return elements, or as many as the elements decide.
_READS = _SHARES | frozenset(
    (
        "__bool__",
        "__complex__",
        "__contains__",
        "__float__",
        "__format__",
        "__index__",
        "__int__",
        "__repr__",
        "_local_scalar_dense",
        "_unique2",
        "allclose",
        "apply_",
        "argwhere",
        "equal",
        "is_nonzero",
        "item",
        "map2_",
        "map_",
        "masked_select",
        "nonzero",
        "tolist",
        "unique",
        "unique_consecutive",
    )
)

# Operators of torch of this kind.
_OPERATOR_READS = frozenset(
    (
        *("_coalesce", "_local_scalar_dense", "_to_sparse", "_unique", "_unique2", "bincount", "equal"),
        *("masked_select", "nonzero", "repeat_interleave", "to_sparse"),
        *("unique_consecutive", "unique_dim", "unique_dim_consecutive"),
    )
)

# Namespaces of operators without Python code of a submission.
_NAMESPACES = frozenset(("aten", "mkldnn", "prim", "prims", "quantized"))

# In place of the address of a tensor without memory of its own, such as a sparse one.
_UNKNOWN = -1

_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Decisions:
    """Observes functions and operators of torch while a submission runs."""

    def __init__(self, path: str, is_written: Callable[[Any], bool]) -> None:
        """`path` is the submission's file. `is_written` finds tensors that a launch wrote."""
        self._path = path
        self._is_written = is_written
        # Addresses of storages that hold constants; of all that torch has made; of constants with another
        # owner.
        self._constants: set[int] = set()
        self._made: set[int] = set()
        self._shared: set[int] = set()
        # The modules of this package, by their variables. A name of a file proves nothing.
        modules = list(sys.modules.items())
        self._ours = {id(vars(one)) for name, one in modules if name.startswith("cerith_")}
        self.found: tuple[str, int | None] | None = None
        """The first function that read data, and the line of the file."""

    def note_inputs(self, addresses: Iterable[int]) -> None:
        """Notes storages of data, which may have the addresses of earlier constants."""
        known = set(addresses)
        self._constants -= known
        self._shared -= known
        self._made |= known

    def check_shared(self, addresses: Iterable[int]) -> None:
        """Checks storages that launches wrote, after a call."""
        if self._shared.intersection(addresses) and self.found is None:
            self.found = ("numpy", None)

    def begin_call(self, function: Any, args: Any, kwargs: Any) -> None:
        """Records that a function of torch is called."""
        name = getattr(function, "__name__", "").partition(".")[0]
        if name not in _READS and name != "tensor_split":
            return
        given = [*_list_tensors(args), *_list_tensors(kwargs)]
        if any(self._has_data(one) for one in given):
            if name in _READS or len(given) > 1:
                self.note(name)
        elif name in _SHARES and self._find_caller() is not None:
            self._shared.update(map(_find_address, given))

    def end_call(self, function: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Records the result of a function of torch. One that is made of numbers is a constant."""
        if _is_number(args) and _is_number(kwargs):
            made = _find_addresses(result)
            self._made |= made
            self._constants |= made
            self._shared -= made

    def record_operator(self, operator: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Records an operator, as torch's dispatcher calls it."""
        namespace, _, name = operator._schema.name.partition("::")
        given = [*_list_tensors(args), *_list_tensors(kwargs)]
        if name == "lift_fresh":
            # A tensor that Python made of numbers, or of memory that it owns.
            self._made -= _find_addresses(result) - self._constants
            return
        known = set(map(_find_address, given))
        fresh = _find_addresses(result) - known
        self._shared -= fresh
        self._made |= fresh
        if not any(self._has_data(one) for one in given):
            self._constants |= fresh
            return
        if namespace not in _NAMESPACES:
            self.note(f"{namespace}::{name}")
        elif name in _OPERATOR_READS or (name == "index" and _has_mask(args)):
            self.note(name)
        written = {_find_address(one) for one in _list_written(operator, args, kwargs)} - {0}
        if written & self._shared or not written <= self._made:
            self.note(name)
        self._constants -= fresh | written

    def note(self, name: str, line: int | None = None) -> None:
        """Notes a read, which the submission's file makes in a line, or otherwise in the one that runs."""
        if self.found is not None:
            return
        if line is not None:
            self.found = (name, line)
            return
        frame = self._find_caller()
        if frame is None:
            return
        while frame is not None and frame.f_code.co_filename != self._path:
            frame = frame.f_back
        self.found = (name, None if frame is None else frame.f_lineno)

    def _find_caller(self) -> Any:
        """The frame that calls torch. `None` if it is the judge's, which reads tensors itself."""
        frame: Any = sys._getframe(1)
        while frame is not None and self._is_observer(frame):
            frame = frame.f_back
        return None if frame is None or id(frame.f_globals) in self._ours else frame

    def _is_observer(self, frame: Any) -> bool:
        """Whether a frame is one of torch, or of this module and those that call it."""
        file = frame.f_code.co_filename
        if id(frame.f_globals) in self._ours:
            return file.startswith(_FOLDER) and os.path.basename(file) in ("decisions.py", "devices.py")
        return "site-packages" in file

    def _has_data(self, tensor: Any) -> bool:
        address = _find_address(tensor)
        return address != 0 and (address not in self._constants or self._is_written(tensor))


def _list_tensors(value: Any) -> Iterator[Any]:
    if is_torch(value):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _list_tensors(one)
    elif isinstance(value, dict):
        yield from _list_tensors(list(value.values()))


def _list_written(operator: Any, args: Any, kwargs: Any) -> Iterator[Any]:
    """The tensors that an operator writes to."""
    for at, one in enumerate(operator._schema.arguments):
        if one.alias_info is not None and one.alias_info.is_write:
            yield from _list_tensors(args[at] if at < len(args) else kwargs.get(one.name))


def _has_mask(args: Any) -> bool:
    return any(str(one.dtype) in ("torch.bool", "torch.uint8") for one in _list_tensors(args[1:]))


def _is_number(value: Any) -> bool:
    """Whether a value holds no memory."""
    if type(value) in (list, tuple):
        return all(_is_number(one) for one in value)
    if type(value) is dict:
        return _is_number(list(value.values()))
    plain = value is None or type(value) in (bool, int, float, complex, str)
    return plain or type(value).__name__ in ("device", "dtype", "layout", "memory_format", "Size")


def _find_addresses(value: Any) -> set[int]:
    return set(map(_find_address, _list_tensors(value))) - {0, _UNKNOWN}


def _find_address(tensor: Any) -> int:
    """The address of a tensor's storage. 0 if it has no elements."""
    try:
        return int(tensor.untyped_storage().data_ptr()) or (_UNKNOWN if tensor.numel() else 0)
    except (RuntimeError, NotImplementedError):
        return _UNKNOWN
