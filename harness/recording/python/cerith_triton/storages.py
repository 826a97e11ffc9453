"""The storages of a launch: which arguments share one, what is in them, and addresses that they hold."""

from __future__ import annotations

import ctypes
import gc
import struct
import sys
from bisect import bisect_right
from typing import Any, Iterator

from .failures import Unsayable

# The range in which systems map memory: above the first 4 GiB, within 57 bits.
_LOWEST, _HIGHEST = 1 << 32, 1 << 57


class Storage:
    """A run of bytes that owns its memory."""

    __slots__ = (
        "address",
        "addresses",
        "after",
        "before",
        "held",
        "name",
        "on_cpu",
        "pointers",
        "size",
        "why",
    )

    def __init__(self, held: Any, address: int, on_cpu: bool, name: str) -> None:
        # torch's storage object.
        self.held = held
        self.address = address
        self.size = int(held.nbytes())
        self.on_cpu = on_cpu
        # The first parameter that shows it.
        self.name = name
        # Whether it is shown as 64-bit integers, which may be addresses.
        self.pointers = False
        self.before: str | None = None
        self.after: str | None = None
        self.why: str | None = None
        self.addresses: list[tuple[int, int, int]] = []

    def read(self) -> bytes:
        """The bytes, as far as the device has come. Nothing of torch's is changed."""
        if not self.size:
            return b""
        # The copy comes after what the stream was given before, and is waited for.
        host = self.held if self.on_cpu else self.held.cpu()
        if host.device.type != "cpu":
            raise Unsayable(f"`{self.name}` could not be copied from its device")
        return ctypes.string_at(host.data_ptr(), self.size)


class Storages:
    """The storages of one launch, in the order in which arguments show them."""

    __slots__ = ("_at", "all")

    def __init__(self) -> None:
        self.all: list[Storage] = []
        self._at: dict[int, int] = {}

    def index(self, tensor: Any, name: str) -> int:
        """The number of a tensor's storage, which is added if it is new.

        Raises `Unsayable` for a tensor without a storage of its own.
        """
        try:
            held = tensor.untyped_storage()
            address = held.data_ptr()
        except (AttributeError, RuntimeError, NotImplementedError) as error:
            kind = type(tensor)
            raise Unsayable(
                f"`{name}` is a {kind.__module__}.{kind.__qualname__} whose memory cannot be seen"
            ) from error
        index = self._at.get(address)
        if index is None:
            if not address and held.nbytes():
                raise Unsayable(f"`{name}` is a tensor without memory")
            index = self._at[address] = len(self.all)
            device = getattr(tensor, "device", None)
            on_cpu = str(getattr(device, "type", device)) == "cpu"
            self.all.append(Storage(held, address, on_cpu, name))
        return index

    def find_addresses(self, contents: list[bytes | None], everywhere: bool) -> bool:
        """Notes which words of pointer tables are addresses of what storage; `contents` are the bytes that
        are known. With `everywhere`, storages of tensors that are not arguments, but are pointed to, are
        added; says whether that was in vain."""
        words = [
            (index, offset, word)
            for index, content in enumerate(contents)
            if self.all[index].pointers
            for offset, word in _candidates(content)
        ]
        left = self._resolve(words)
        if not left or not everywhere:
            return False
        if self.add_live({word for _, _, word in left}, self.all[left[0][0]].name):
            return len(self._resolve(left)) == len(left)
        return True

    def _resolve(self, words: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        places = sorted((storage.address, at) for at, storage in enumerate(self.all) if storage.size)
        starts = [start for start, _ in places]
        left = []
        for index, offset, word in words:
            at = bisect_right(starts, word) - 1
            found = self.all[places[at][1]] if at >= 0 else None
            if found is not None and word < found.address + found.size:
                self.all[index].addresses.append((offset, places[at][1], word - found.address))
            else:
                left.append((index, offset, word))
        return left

    def add_live(self, words: set[int], name: str) -> bool:
        """Adds the storages of live tensors that a word points into."""
        ordered = sorted(words)
        added = False
        for tensor in live_tensors():
            try:
                held = tensor.untyped_storage()
                address, size = held.data_ptr(), held.nbytes()
            except (RuntimeError, NotImplementedError):
                continue
            at = bisect_right(ordered, address + size - 1) - 1
            if size and at >= 0 and ordered[at] >= address and address not in self._at:
                self.index(tensor, f"{name}_target")
                added = True
        return added

    def place(self, word: int) -> tuple[int, int] | None:
        """The storage that a number is an address in, and the byte of it."""
        for at, storage in enumerate(self.all):
            if storage.address <= word < storage.address + storage.size:
                return at, word - storage.address
        return None


def owner_of(value: Any, address: int) -> Any:
    """A tensor in whose storage an address is: one that an object holds, or otherwise any tensor in Python.
    None if there is none."""
    held = list(vars(value).values()) if hasattr(value, "__dict__") else []
    held += [getattr(value, name, None) for name in getattr(type(value), "__slots__", ())]
    for tensor in (*(one for one in held if hasattr(one, "untyped_storage")), *live_tensors()):
        try:
            storage = tensor.untyped_storage()
            start, size = storage.data_ptr(), storage.nbytes()
        except (RuntimeError, NotImplementedError):
            continue
        if start <= address < start + size:
            return tensor
    return None


def live_tensors() -> Iterator[Any]:
    """Every tensor of torch's in this process."""
    torch = sys.modules.get("torch")
    kind = getattr(torch, "Tensor", None)
    if kind is not None:
        for value in gc.get_objects():
            # Not `isinstance`, which asks objects that may answer by doing something.
            if issubclass(type(value), kind):
                yield value


def wait() -> None:
    """Waits for what the current stream was given: memory of the host may be a launch's too."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():
        cuda.current_stream().synchronize()


def is_capturing() -> bool:
    """Whether a CUDA graph is being captured, while nothing may be waited for."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return bool(cuda is not None and cuda.is_initialized() and cuda.is_current_stream_capturing())


def looks_like_address(word: int) -> bool:
    """Whether a number can be an address at all."""
    return _LOWEST <= word < _HIGHEST


def _candidates(content: bytes | None) -> Iterator[tuple[int, int]]:
    """Byte offsets and values of words that can be addresses."""
    if content is None or len(content) < 8:
        return
    whole = len(content) - len(content) % 8
    words = memoryview(content)[:whole].cast("I")
    if sys.byteorder != "little":
        return
    # Small numbers of either sign are told apart without a loop in Python.
    if not words[1::2].tobytes().translate(None, b"\x00\xff"):
        return
    for at, (word,) in enumerate(struct.iter_unpack("<Q", content[:whole])):
        if _LOWEST <= word < _HIGHEST:
            yield at * 8, word
