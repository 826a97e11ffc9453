"""The GPU that Triton sees: a torch without one, or, on request, a driver for a GPU that is
not there.

Hardly anyone has Triton without torch, and several versions import torch to look for a GPU, some of them
while a module is imported. So Triton's own modules, and no others, find a torch that sees no GPU.
"""

from __future__ import annotations

import builtins
import os
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Callable, Iterator, Mapping, Sequence

from .dtypes import DTYPES
from .memory import CUDA, Device

# H100 and H200.
_CAPABILITY = (9, 0)
_WARP_SIZE = 32


class FakeDriver:
    """Answers what the autotuner and the launchers of 3.0 to 3.9 ask before they touch a GPU."""

    def __init__(self, capability: tuple[int, int] = _CAPABILITY) -> None:
        self.capability = capability

    @classmethod
    def is_active(cls) -> bool:
        return True

    def get_current_target(self) -> object:
        from triton.backends.compiler import GPUTarget

        major, minor = self.capability
        return GPUTarget("cuda", major * 10 + minor, _WARP_SIZE)

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return self.capability

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: int = 0) -> int:
        return 0

    def get_active_torch_device(self) -> Device:
        return CUDA

    def get_benchmarker(self) -> Callable[..., float | list[float]]:
        def bench(
            kernel_call: Callable[[], object], *, quantiles: Sequence[float] | None = None, **_: object
        ) -> float | list[float]:
            # Every configuration is run and takes as long as the others, so the first of them wins.
            kernel_call()
            return [1.0] * len(quantiles) if quantiles else 1.0

        return bench


class _NoCuda:
    """`torch.cuda` of a CUDA build on a machine without a GPU."""

    def is_available(self) -> bool:
        return False

    def device_count(self) -> int:
        return 0

    def __getattr__(self, name: str) -> Callable[..., None]:
        def initialise(*_: object, **__: object) -> None:
            raise RuntimeError(
                "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and "
                "installed a driver from http://www.nvidia.com/Download/index.aspx"
            )

        return initialise


_CUDA = _NoCuda()
_TORCH = SimpleNamespace(
    __name__="torch",
    cuda=_CUDA,
    version=SimpleNamespace(cuda="12.8", hip=None),
    # Triton 3.1 calls it instead of `torch.cuda`.
    _dynamo=SimpleNamespace(device_interface=SimpleNamespace(get_interface_for_device=lambda _device: _CUDA)),
    **DTYPES,
)


def show_triton_a_torch() -> None:
    """From now on, where Triton's modules import torch they find one that sees no GPU."""
    import triton as package

    find = builtins.__import__
    # Some versions load the modules of their backends under names that do not say whose they are.
    triton = os.path.join(os.path.dirname(package.__file__), "")

    def find_for(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        if name.partition(".")[0] == "torch" and level == 0:
            if str((globals or {}).get("__file__")).startswith(triton):
                return _TORCH
        return find(name, globals, locals, fromlist, level)

    builtins.__import__ = find_for


@contextmanager
def install_fake(wanted: FakeDriver | None) -> Iterator[None]:
    """With `wanted` as Triton's driver, if there is one."""
    if wanted is None:
        yield
        return
    from triton.runtime.driver import driver

    if not hasattr(driver, "set_active"):
        raise RuntimeError("this Triton has no way to be given a driver (3.0 and later have)")
    before = dict(vars(driver))
    driver.set_active(wanted)
    try:
        yield
    finally:
        vars(driver).clear()
        vars(driver).update(before)
