"""Torch's functions while a launcher runs on a machine without a GPU: tensors that it makes on one are on
the CPU, and tensors of the CPU count as a GPU's.

The launches are executed on the CPU, so that nothing else differs.
"""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any, Iterator

from . import arguments

# A common GPU, for launchers that choose a grid by its size.
_PROPERTIES = SimpleNamespace(
    name="CPU in place of a GPU",
    major=9,
    minor=0,
    multi_processor_count=132,
    shared_memory_per_block_optin=232448,
    warp_size=32,
    max_threads_per_multi_processor=2048,
    regs_per_multiprocessor=65536,
    total_memory=80 << 30,
)


@contextlib.contextmanager
def without_gpu() -> Iterator[None]:
    """A context in which a launcher for GPUs runs, if this process has torch and no GPU."""
    torch = arguments.torch_of()
    if torch is None or torch.cuda.is_available():
        yield
        return
    answers = {
        "current_device": lambda: 0,
        "device": lambda _device: contextlib.nullcontext(),
        "device_of": lambda _tensor: contextlib.nullcontext(),
        "get_device_capability": lambda _device=None: (_PROPERTIES.major, _PROPERTIES.minor),
        "get_device_name": lambda _device=None: _PROPERTIES.name,
        "get_device_properties": lambda _device=None: _PROPERTIES,
        "synchronize": lambda _device=None: None,
    }
    before = {name: getattr(torch.cuda, name) for name in answers}
    try:
        for name, answer in answers.items():
            setattr(torch.cuda, name, answer)
        with _make_mode(torch):
            yield
    finally:
        for name, function in before.items():
            setattr(torch.cuda, name, function)


def _make_mode(torch: Any) -> Any:
    from torch.overrides import TorchFunctionMode

    class CpuInPlaceOfGpu(TorchFunctionMode):  # type: ignore[misc]
        """Replaces devices in the arguments of torch's functions."""

        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            name = getattr(function, "__name__", "")
            if getattr(getattr(function, "__self__", None), "__name__", "") == "is_cuda":
                return True
            if name == "cuda" and args and isinstance(args[0], torch.Tensor):
                return args[0]
            if name == "to":
                args = tuple(_to_cpu(one) if _is_gpu(one) else one for one in args)
            given = kwargs or {}
            if _is_gpu(given.get("device")):
                given = {**given, "device": "cpu"}
            return function(*args, **given)

    return CpuInPlaceOfGpu()


def _is_gpu(device: Any) -> bool:
    torch = arguments.torch_of()
    if isinstance(device, torch.device):
        return bool(device.type == "cuda")
    return isinstance(device, str) and device.partition(":")[0] == "cuda"


def _to_cpu(device: Any) -> Any:
    return arguments.torch_of().device("cpu")
