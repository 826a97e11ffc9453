"""Storages and their addresses.

A storage on the fake CUDA device has an address that is never mapped in this process, and keeps its bytes
elsewhere: following a device address is a segmentation fault, as it is on a machine with a GPU. A storage
on the CPU has the address of its bytes. Around every storage lie guard zones; a host copy of a storage gets
copies of its guard zones, and `Session.settle` copies writes into those back to the storage, so
that no stray write goes unseen.
"""

from __future__ import annotations

import mmap
from typing import Any, NamedTuple, Protocol

import numpy as np

# Below them lie the heap of a non-PIE program and above them everything that Linux maps without being asked
# for an address, on every 64-bit architecture with at least 47 bits of user addresses. No round numbers,
# which arithmetic meets: 2**45 would be one. The second is for a run that shows which words are addresses.
_DEVICE_BASES = (0x2B5D_93C0_0000, 0x2E71_46A0_0000)
# Far enough apart that an address past the end of one storage is not taken for the next.
_DEVICE_STEP = 1 << 32
# The most bytes that a case holds in memory. Compilers get larger storages, and look at sizes alone.
_MAX_HELD = 1 << 28
# torch's CPU allocator aligns to 64 bytes, its CUDA allocator to 512. What fits both keeps the kinds
# comparable.
ALIGNMENT = 512
# Left between any two storages. Only what is touched of it is ever made.
_SLACK = 64 << 10
# Mapped at once, so that a small request maps once.
_ARENA = 4 << 20


class Device:
    """A stand-in for `torch.device`."""

    __slots__ = ("index", "type")

    def __init__(self, kind: str, index: int | None = None) -> None:
        self.type = kind
        self.index = index

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        rest = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{rest})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


CPU = Device("cpu")
CUDA = Device("cuda", 0)


def device_of(name: object) -> Device:
    """The device that torch would understand by `name`."""
    if isinstance(name, Device):
        return name
    if name == "cpu":
        return CPU
    if name in ("cuda", "cuda:0") or (name == 0 and not isinstance(name, bool)):
        return CUDA
    raise RuntimeError(f"no such device: {name!r}")


def address_of(data: np.ndarray[Any, Any]) -> int:
    """Where an array's bytes are."""
    address: int = data.__array_interface__["data"][0]
    return address


class _Arena:
    """Memory for storages, far from everything else that this process has.

    A kernel that writes past the end of a storage would otherwise write into Python's heap, and some later
    request would pay for it. With a guard zone it reads unused zeros, or, far away, unmapped memory.
    """

    def __init__(self) -> None:
        self._rest: np.ndarray[Any, Any] = np.empty(0, dtype=np.uint8)

    def take(self, size: int, front: int) -> np.ndarray[Any, Any]:
        """Fresh zeros, `size` of them, whose byte `front` is aligned."""
        slack = max(_SLACK, size)
        if len(self._rest) < size + 2 * slack + ALIGNMENT:
            room = mmap.mmap(
                -1, max(_ARENA, 2 * (size + 2 * slack)), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
            )
            self._rest = np.frombuffer(room, dtype=np.uint8)
        start = slack + -(address_of(self._rest) + slack + front) % ALIGNMENT
        taken = self._rest[start : start + size]
        self._rest = self._rest[start + size :]
        return taken


class UntypedStorage:
    """A stand-in for `torch.UntypedStorage`: `bytes` is guard zone, storage, guard zone."""

    __slots__ = ("address", "back", "bytes", "device", "front", "session")

    def __init__(
        self, session: Session, device: Device, data: np.ndarray | int, front: int, back: int
    ) -> None:
        """With `data`, or so many zeros. More than `_MAX_HELD` take no memory, and cannot be written."""
        self.session = session
        self.device = device
        self.front = front
        self.back = back
        if isinstance(data, int) and data > _MAX_HELD:
            self.bytes = np.broadcast_to(np.zeros(1, np.uint8), (data,))
        else:
            self.bytes = session.arena.take(data if isinstance(data, int) else len(data), front)
        if not isinstance(data, int):
            self.bytes[:] = data
        if device.type == "cuda":
            self.address = session.next_device_address(self.nbytes())
        else:
            self.address = address_of(self.bytes) + front

    def body(self) -> np.ndarray:
        """The bytes without the guard zones."""
        return self.bytes[self.front : len(self.bytes) - self.back]

    def nbytes(self) -> int:
        return len(self.bytes) - self.front - self.back

    size = nbytes
    __len__ = nbytes

    def near(self) -> tuple[int, int]:
        """The first and the last address that are taken to be this storage's. Nothing else lives near a
        device address. Near a host address anything may, beyond the guard zones."""
        front, back = (_DEVICE_STEP // 4,) * 2 if self.device.type == "cuda" else (self.front, self.back)
        return self.address - front, self.address + self.nbytes() + back

    def data_ptr(self) -> int:
        # torch allocates nothing for an empty storage.
        return self.address if self.nbytes() else 0

    def cpu(self) -> UntypedStorage:
        if self.device.type == "cpu":
            return self
        copy = UntypedStorage(self.session, CPU, self.bytes, self.front, self.back)
        self.session.add_copy(self, copy, 0)
        return copy

    def clone(self) -> UntypedStorage:
        return UntypedStorage(self.session, self.device, self.bytes, self.front, self.back)

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        if self.nbytes() != source.nbytes():
            raise RuntimeError("size does not match")
        if self is not source:
            self.session.note_copy(self)
            self.body()[:] = source.body()
        return self


class _Copy(NamedTuple):
    """A storage made from another: byte `b` of it stands for byte `b + shift` of its origin."""

    origin: UntypedStorage
    copy: UntypedStorage
    shift: int
    guards: tuple[bytes, bytes]


class HostWrites(Protocol):
    """Receives the writes of host code to the request's storages."""

    def note_cleared(self, storage: int, starts: np.ndarray[Any, Any], size: int) -> None:
        """Elements of `size` bytes, at these bytes, are set to zero."""

    def note_copied(self, storage: int) -> None:
        """Something is copied into a storage."""


class Session:
    """The memory of one request: its storages and the host copies made of them."""

    def __init__(self, base: int = 0) -> None:
        """With its storages at one base or, with 1, at another."""
        self.storages: list[UntypedStorage] = []
        self.arena = _Arena()
        self._copies: list[_Copy] = []
        self._next = _DEVICE_BASES[base]
        # The ints that were passed as addresses, with the storages that they point to. A different int object
        # of the same value is a number.
        self._passed: list[tuple[int, tuple[int, int]]] = []
        # Told of writes to the request's storages that host code makes.
        self.host_writes: HostWrites | None = None

    def close(self) -> None:
        """Lets go of the memory now, and not when Python next looks for cycles."""
        self.storages.clear()
        self._copies.clear()
        self._passed.clear()
        self.arena = _Arena()

    def add(self, device: str, data: np.ndarray[Any, Any], front: int, back: int) -> None:
        """Makes the next storage of the request."""
        self.storages.append(UntypedStorage(self, CUDA if device == "cuda" else CPU, data, front, back))

    def index_of(self, storage: UntypedStorage) -> int | None:
        """The place of a storage of the request; none of others."""
        return next((at for at, one in enumerate(self.storages) if one is storage), None)

    def note_copy(self, storage: UntypedStorage) -> None:
        """Notes that host code copies into a storage."""
        index = self.index_of(storage) if self.host_writes is not None else None
        if self.host_writes is not None and index is not None:
            self.host_writes.note_copied(index)

    def begin(self) -> None:
        """The storages hold what the launches are to find."""

    def next_device_address(self, size: int) -> int:
        address = self._next
        self._next += -(-(size + _DEVICE_STEP) // _DEVICE_STEP) * _DEVICE_STEP
        return address

    def pass_address(self, index: int, offset: int) -> int:
        """The address of a byte of a storage, to be passed as an int."""
        number = self.storages[index].address + offset
        self._passed.append((number, (index, offset)))
        return number

    def find_passed(self, number: object) -> tuple[int, int] | None:
        """The storage and the byte of it that an int was passed as the address of."""
        return next((place for address, place in self._passed if address is number), None)

    def add_copy(self, origin: UntypedStorage, copy: UntypedStorage, shift: int) -> None:
        """Notes that `copy` was made from `origin`."""
        guards = (copy.bytes[: copy.front].tobytes(), copy.bytes[len(copy.bytes) - copy.back :].tobytes())
        self._copies.append(_Copy(origin, copy, shift, guards))

    def place(self, address: int) -> tuple[int, int] | None:
        """The storage that a device address is in or near, by its index, and the byte of it."""
        for index, storage in enumerate(self.storages):
            at = address - storage.address
            if -_DEVICE_STEP // 4 <= at <= storage.nbytes() + _DEVICE_STEP // 4:
                return index, at
        return None

    def settle(self) -> None:
        """Carries writes into the guard zones of host copies over to those of their origins."""
        for origin, copy, _, (front, back) in self._copies:
            for old, now, theirs in (
                (front, copy.bytes[: copy.front], origin.bytes[: origin.front]),
                (
                    back,
                    copy.bytes[len(copy.bytes) - copy.back :],
                    origin.bytes[len(origin.bytes) - origin.back :],
                ),
            ):
                if old != now.tobytes():
                    changed = now != np.frombuffer(old, dtype=np.uint8)
                    theirs[changed] = now[changed]

    def find_relocations(self, storage: UntypedStorage) -> list[tuple[int, int, int]]:
        """The words in a storage that look like addresses, as (byte, index of the storage pointed into, byte
        within that). A number may look like one: what is an address moves with the storages."""
        body = storage.body()
        words = body[: len(body) // 8 * 8].view(np.uint64)
        found: dict[int, tuple[int, int, int, int]] = {}
        for index, target in enumerate(self.storages):
            self._find(words, index, target, 0, found)
        for origin, copy, shift, _ in self._copies:
            for index, target in enumerate(self.storages):
                if target is origin:
                    self._find(words, index, copy, shift, found)
        return [(word * 8, index, addend) for word, (_, _, index, addend) in sorted(found.items())]

    @staticmethod
    def blank_addresses(storage: UntypedStorage, found: list[tuple[int, int, int]]) -> None:
        """Sets the bytes of these addresses to zero."""
        for at, _, _ in found:
            storage.body()[at : at + 8] = 0

    @staticmethod
    def _find(
        words: np.ndarray,
        index: int,
        target: UntypedStorage,
        shift: int,
        found: dict[int, tuple[int, int, int, int]],
    ) -> None:
        low, high = target.near()
        hits = np.nonzero((words >= np.uint64(low)) & (words <= np.uint64(high)))[0]
        for word in hits.tolist():
            at = int(words[word]) - target.address
            outside = max(0, -at, at - target.nbytes())
            best = (outside, 0 if outside or at < target.nbytes() else 1, index, at + shift)
            if word not in found or best < found[word]:
                found[word] = best
