"""Torch's functions while a launcher runs.

On a machine without a GPU, tensors that it makes on one are on the CPU, and tensors of the CPU count as a
GPU's: its launches are executed on the CPU. Tensors that nothing wrote are noted.
"""

from __future__ import annotations

import _thread
import contextlib
import functools
import threading
from types import SimpleNamespace
from typing import Any, Callable, Iterator, Protocol

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


# Functions that start threads, as `threading` imports them.
_THREAD_STARTS = ("_start_new_thread", "_start_joinable_thread")

# Functions of torch that run the `backward` of others.
_BACKWARD = ("backward", "grad")

# Functions of torch whose results nothing wrote.
_EMPTY = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided")


# The stream of a launcher, whose launches are executed at once.
_STREAM = SimpleNamespace(
    cuda_stream=0,
    query=lambda: True,
    synchronize=lambda: None,
    wait_stream=lambda _stream: None,
)


class Observer(Protocol):
    """Gets functions and operators of torch, with arguments, keyword arguments and results."""

    def begin_call(self, function: Any, args: Any, kwargs: Any) -> None:
        """Gets a function before it runs."""

    def end_call(self, function: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Gets a function after it has run."""

    def record_operator(self, operator: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Gets an operator, of a function or of compiled code."""


def _has_gpu() -> bool:
    """In place of `torch.cuda.is_available`, as tensors are `is_cuda`."""
    return True


@contextlib.contextmanager
def watch_torch(note_empty: Callable[[Any], None], observer: Observer | None = None) -> Iterator[None]:
    """A context for a launcher, if this process has torch: `note_empty` is called with each new tensor that
    nothing wrote, and `observer` gets each call of torch, in threads too. Without a GPU, the CPU takes its
    place."""
    torch = arguments.torch_of()
    if torch is None:
        yield
        return
    on_cpu = torch.cuda.is_available is _has_gpu or not torch.cuda.is_available()
    answers = {
        "current_device": lambda: 0,
        "current_stream": lambda _device=None: _STREAM,
        "device": lambda _device: contextlib.nullcontext(),
        "device_count": lambda: 1,
        "device_of": lambda _tensor: contextlib.nullcontext(),
        "get_device_capability": lambda _device=None: (_PROPERTIES.major, _PROPERTIES.minor),
        "get_device_name": lambda _device=None: _PROPERTIES.name,
        "get_device_properties": lambda _device=None: _PROPERTIES,
        "is_available": _has_gpu,
        "synchronize": lambda _device=None: None,
    }
    before = {name: getattr(torch.cuda, name) for name in answers} if on_cpu else {}
    try:
        for name in before:
            setattr(torch.cuda, name, answers[name])
        if observer is None:
            with _make_mode(torch, on_cpu, note_empty, None):
                yield
        else:
            modes = functools.partial(_enter_modes, torch, on_cpu, note_empty, observer)
            with modes(), _watch_threads(modes):
                yield
    finally:
        for name, function in before.items():
            setattr(torch.cuda, name, function)


@contextlib.contextmanager
def _enter_modes(
    torch: Any, on_cpu: bool, note_empty: Callable[[Any], None], observer: Observer
) -> Iterator[None]:
    """A context in which this thread is observed."""
    with _make_mode(torch, on_cpu, note_empty, observer), _make_operator_mode(torch, observer):
        yield


def _make_operator_mode(torch: Any, observer: Observer) -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

    class OperatorMode(TorchDispatchMode):  # type: ignore[misc]
        """Shows operators that no function of Python calls."""

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            # Otherwise the first operator imports all of `torch._dynamo`, which takes a second.
            return False

        def __torch_dispatch__(
            self, operator: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            result = operator(*args, **(kwargs or {}))
            # The observer's own functions are not the launcher's.
            with torch._C.DisableTorchFunction():
                observer.record_operator(operator, args, kwargs or {}, result)
            return result

    return OperatorMode()


@contextlib.contextmanager
def _watch_threads(watch: Callable[[], contextlib.AbstractContextManager[None]]) -> Iterator[None]:
    """A context in which new threads run in a context too. Torch's modes are those of one thread."""
    places = [
        (module, name)
        for module in (_thread, threading)
        for name in ("start_new_thread", "start_joinable_thread", *_THREAD_STARTS)
        if hasattr(module, name)
    ]
    before = [getattr(module, name) for module, name in places]

    def wrap(start: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(start)
        def start_watched(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            @functools.wraps(function)
            def run_watched(*given: Any, **named: Any) -> Any:
                with watch():
                    return function(*given, **named)

            return start(run_watched, *args, **kwargs)

        return start_watched

    try:
        for (module, name), start in zip(places, before):
            setattr(module, name, wrap(start))
        yield
    finally:
        for (module, name), start in zip(places, before):
            setattr(module, name, start)


def _make_mode(torch: Any, on_cpu: bool, note_empty: Callable[[Any], None], observer: Observer | None) -> Any:
    from torch.overrides import TorchFunctionMode

    class LauncherMode(TorchFunctionMode):  # type: ignore[misc]
        """Replaces devices in the arguments of torch's functions, and notes empty tensors."""

        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            name = getattr(function, "__name__", "")
            given = kwargs or {}
            if on_cpu:
                if getattr(getattr(function, "__self__", None), "__name__", "") == "is_cuda":
                    return True
                if name == "cuda" and args and isinstance(args[0], torch.Tensor):
                    return args[0]
                if name == "to":
                    args = tuple(torch.device("cpu") if _is_gpu(one) else one for one in args)
                if _is_gpu(given.get("device")):
                    given = {**given, "device": "cpu"}
            if observer is not None:
                observer.begin_call(function, args, given)
            with self._enter_backward() if name in _BACKWARD else contextlib.nullcontext():
                result = function(*args, **given)
            if name in _EMPTY and given.get("out") is None and isinstance(result, torch.Tensor):
                note_empty(result)
            if observer is not None:
                observer.end_call(function, args, given, result)
            return result

        @contextlib.contextmanager
        def _enter_backward(self) -> Iterator[None]:
            # Torch has left this mode, and would run the `backward` of the launcher's functions without it.
            engine = torch.autograd.Variable._execution_engine

            def run_backward(*args: Any, **kwargs: Any) -> Any:
                with _make_mode(torch, on_cpu, note_empty, observer):
                    return engine.run_backward(*args, **kwargs)

            torch.autograd.Variable._execution_engine = SimpleNamespace(run_backward=run_backward)
            try:
                yield
            finally:
                torch.autograd.Variable._execution_engine = engine

    return LauncherMode()


def _is_gpu(device: Any) -> bool:
    torch = arguments.torch_of()
    if isinstance(device, torch.device):
        return bool(device.type == "cuda")
    return isinstance(device, str) and device.partition(":")[0] == "cuda"
