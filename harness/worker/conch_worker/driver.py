"""A Triton driver that answers for a CUDA device that is not there, for those who ask for one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Callable, Iterator, Sequence

from .memory import CUDA, Device

# H100 and H200.
_CAPABILITY = (9, 0)
_WARP_SIZE = 32


class FakeDriver:
    """Answers what the autotuner and the launchers of 3.0 to 3.9 ask before they touch a GPU."""

    @classmethod
    def is_active(cls) -> bool:
        return True

    def get_current_target(self) -> object:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", _CAPABILITY[0] * 10 + _CAPABILITY[1], _WARP_SIZE)

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return _CAPABILITY

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: int = 0) -> int:
        return 0

    def get_active_torch_device(self) -> Device:
        return CUDA

    def get_benchmarker(self) -> Callable:
        def bench(
            kernel_call: Callable[[], object], *, quantiles: Sequence[float] | None = None, **_: object
        ) -> float | list[float]:
            # Every configuration is run and takes as long as the others, so the first of them wins.
            kernel_call()
            return [1.0] * len(quantiles) if quantiles else 1.0

        return bench


@contextmanager
def installed(wanted: bool) -> Iterator[None]:
    """With `FakeDriver` as Triton's driver, if it is wanted."""
    if not wanted:
        yield
        return
    from triton.runtime.driver import driver

    if not hasattr(driver, "set_active"):
        raise RuntimeError("this Triton has no way to be given a driver (3.0 and later have)")
    before = dict(vars(driver))
    driver.set_active(FakeDriver())
    try:
        yield
    finally:
        vars(driver).clear()
        vars(driver).update(before)
