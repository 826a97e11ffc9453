"""The program `reference`: a reference function is called with the tensors and numbers of a case.

Its results are sent back. No kernel is executed.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from . import arguments, outputs
from .failures import message_of
from .formats import Array
from .program import Channel, find_function, load_module
from .standin.dtypes import DTYPES
from .standin.host import StandIn, make_storage


def serve(channel: Channel, path: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Calls the function `like`, of this file or of a module, and sends its results.

    `request` has the `tensors` (name, storage, dtype, shape, strides, offset), the `sizes` of storages in
    bytes, the `numbers` among the arguments by name, and the names of the tensors that the launches leave
    `unchanged` and `changed`. A function of an installed module gets the unchanged ones, in order.
    """
    module = request["module"]
    like = find_function(
        load_module(path) if module is None else importlib.import_module(module), request["like"]
    )
    _, content = channel.ask({"question": "storages"})
    values = read_tensors(request["tensors"], request["sizes"], content)
    changed = list(request["changed"])
    args: list[Any] = [values[name] for name in request["unchanged"]]
    kwargs: dict[str, Any] = {}
    if module is None:
        args, kwargs = choose_arguments(like, values, request["numbers"])
    with np.errstate(all="ignore"):
        found = outputs.flatten(like(*args, **kwargs))
    if not found.named and len(found.values) != len(changed):
        count = f"{len(found.values)} results, and the launches change {len(changed)} tensors"
        names = f" ({', '.join(changed)})" if changed else ""
        raise ValueError(f"{request['like']} returns {count}{names}: return a dict by their names")
    results = found.names if found.named else changed
    tensors = {str(one["name"]): one for one in request["tensors"]}
    sent, blobs = [], []
    for name, value in zip(results, found.values):
        if name not in tensors:
            raise ValueError(f"{request['like']} returns `{name}`, which is not a tensor of the case")
        array, problem = convert(outputs.read_result(value), tensors[name])
        sent.append({"name": name, "problem": problem})
        blobs.append(b"" if array is None else array.astype(array.dtype.newbyteorder("<")).tobytes())
    channel.ask({"question": "outputs", "outputs": sent, "sizes": [len(blob) for blob in blobs]}, blobs)
    return {}


def read_tensors(
    tensors: Sequence[Mapping[str, Any]], sizes: Sequence[int], content: memoryview
) -> dict[str, Any]:
    """The tensors by name, floats as float64: torch's if this process has torch, otherwise NumPy's."""
    storages, at = [], 0
    for size in sizes:
        storages.append(make_storage(np.frombuffer(content[at : at + size], np.uint8).copy()))
        at += size
    torch = arguments.torch_of()
    found: dict[str, Any] = {}
    for one in tensors:
        shape, strides = tuple(one["shape"]), tuple(one["strides"])
        made = StandIn(storages[one["storage"]], DTYPES[one["dtype"]], shape, strides, one["offset"])
        values = arguments.read_values(made)
        found[str(one["name"])] = values if torch is None else torch.from_numpy(np.ascontiguousarray(values))
    return found


def choose_arguments(
    like: Callable[..., Any], values: Mapping[str, Any], numbers: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a function: for each parameter the tensor or the number of its name."""
    parameters = inspect.signature(like).parameters.values()
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    known = {**numbers, **values}
    for one in parameters:
        if one.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            continue
        if one.name in known:
            if one.kind is inspect.Parameter.POSITIONAL_ONLY:
                args.append(known[one.name])
            else:
                kwargs[one.name] = known[one.name]
        elif one.default is inspect.Parameter.empty:
            names = ", ".join(known)
            raise ValueError(f"the reference function has a parameter `{one.name}`, and the case has {names}")
    return args, kwargs


def convert(result: Array, tensor: Mapping[str, Any]) -> tuple[Array | None, str]:
    """The values of a result for a tensor, as float64 or int64; or why they do not fit."""
    fitted = outputs.fit_shape(result, tuple(tensor["shape"]))
    if fitted is None:
        return None, f"its shape is {tensor['shape']}, and the reference function's is {list(result.shape)}"
    try:
        values = outputs.convert_expected(fitted, tensor["dtype"])
    except (TypeError, ValueError, OverflowError) as error:
        return None, message_of(error)
    if values is None:
        return None, f"it holds {tensor['dtype']}, and the reference function returns other numbers"
    return np.ascontiguousarray(values), ""
