"""Storages and tensors of torch's own, on a GPU or on the CPU, instead of stand-ins.

A storage and the guard zones around it are one allocation; torch gets a storage over its middle
(`torch._C._construct_storage_from_data_pointer`) and does not know the rest. Left out: guard zones around
copies that Triton's interpreter makes of a GPU's storages; those are torch's and lie on Python's heap.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Sequence

import numpy as np
import torch
import triton

from . import memory
from .errors import Fault

# A kernel's faults on a GPU are only seen by waiting for the GPU.
_CUDA = "libcuda.so.1"


class Storage:
    """A storage and its guard zones; `bytes` is guard zone, storage, guard zone, as the CPU last saw them."""

    def __init__(self, session: Session, data: np.ndarray[Any, Any], front: int, back: int) -> None:
        self.front = front
        self.back = back
        size = len(data) - front - back
        if session.device.type == "cpu":
            self.bytes = session.arena.take(len(data), front)
            self.bytes[:] = data
            self._whole = None
            self.address = memory.address_of(self.bytes) + front
        else:
            self.bytes = data.copy()
            # The front guard zone ends where the storage is to begin.
            lead = -(-front // memory.ALIGNMENT) * memory.ALIGNMENT
            room = torch.empty(lead + size + back, dtype=torch.uint8, device=session.device)
            self.address = room.data_ptr() + lead
            self._whole = room[lead - front :]
        if self.address % memory.ALIGNMENT:
            raise RuntimeError(f"torch gave memory at {self.address:#x}")
        # torch has no address for an empty storage.
        self.untyped: Any = (
            torch._C._construct_storage_from_data_pointer(self.address, session.device, size)
            if size
            else torch.UntypedStorage(0, device=session.device)
        )

    def body(self) -> np.ndarray[Any, Any]:
        """The bytes without the guard zones."""
        return self.bytes[self.front : len(self.bytes) - self.back]

    def nbytes(self) -> int:
        return len(self.bytes) - self.front - self.back

    def near(self) -> tuple[int, int]:
        """The first and the last address that are taken to be this storage's."""
        return self.address - self.front, self.address + self.nbytes() + self.back

    def upload(self) -> None:
        if self._whole is not None:
            self._whole.copy_(torch.from_numpy(self.bytes))

    def download(self) -> None:
        if self._whole is not None:
            self.bytes[:] = self._whole.cpu().numpy()


class Session(memory.Session):
    """The memory of one request, in torch's hands."""

    storages: list[Storage]  # type: ignore[assignment]

    def __init__(self, device: str) -> None:
        super().__init__()
        # With its number, as in every tensor of torch.
        self.device = torch.empty(0, device=device).device

    def add(self, device: str, data: np.ndarray[Any, Any], front: int, back: int) -> None:
        if device != self.device.type:
            raise RuntimeError(f"tensors on {device} from a worker for {self.device.type}")
        self.storages.append(Storage(self, data, front, back))

    def begin(self) -> None:
        for storage in self.storages:
            storage.upload()

    def settle(self) -> None:
        if self.device.type == "cuda":
            wait()
        for storage in self.storages:
            storage.download()


def start(device: str) -> None:
    """Opens the GPU, if `device` is one, and does what every program on a GPU has to do: it gives Triton an
    allocator for scratch memory, which Triton requires since 3.3."""
    if device == "cuda":
        if not torch.cuda.is_available():
            sys.exit("torch sees no GPU here")
        torch.empty(1, device=device)
        if hasattr(triton, "set_allocator"):
            triton.set_allocator(
                lambda size, _align, _stream: torch.empty(size, dtype=torch.int8, device=device)
            )


def wait() -> None:
    """Waits for the GPU.

    Raises a fault with the CUDA driver's message, like Cerith's own launches.
    """
    cuda = ctypes.CDLL(_CUDA)
    code = cuda.cuCtxSynchronize()
    if code:
        texts = []
        for ask in (cuda.cuGetErrorName, cuda.cuGetErrorString):
            text = ctypes.c_char_p()
            ask(code, ctypes.byref(text))
            texts.append((text.value or f"CUDA_ERROR_{code}".encode()).decode())
        raise Fault(*texts)


def tensor_of(session: Session, spec: Sequence[Any]) -> torch.Tensor:
    """The tensor that a request describes: storage, dtype, shape, strides, offset."""
    storage, kind, shape, strides, offset = spec
    empty = torch.empty(0, dtype=getattr(torch, kind), device=session.device)
    return empty.set_(session.storages[storage].untyped, offset, shape, strides)
