"""Launches of compiled kernels, recorded but not made.

Triton does everything that it does on a machine with a GPU: it specialises on the arguments, tunes, compiles
and calls its launcher. It finds this module's driver, whose launcher writes down what Triton's
own would have given to CUDA, with its rules for dropping, flattening and converting arguments, by version.
"""

from __future__ import annotations

import ctypes
import operator
import re
import struct
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Callable, Iterator, Mapping, Sequence

import numpy as np
import triton

from .capability import MAX_THREADS, MULTIPROCESSORS, SHARED, SHARED_ELSE
from .fake_driver import FakeDriver
from .memory import Session

_INTEGERS = {
    "i1": "<B",
    "i8": "<b",
    "i16": "<h",
    "i32": "<i",
    "i64": "<q",
    "u1": "<B",
    "u8": "<B",
    "u16": "<H",
    "u32": "<I",
    "u64": "<Q",
}
# `CUtensorMapDataType`, by the compiler's numbers.
_TENSOR_MAP_TYPES = {8: 10, 9: 8, 10: 9}
_TENSOR_MAP_TF32 = 11

_VERSION = tuple(int(part) for part in re.findall(r"\d+", triton.__version__)[:2])


class Unsupported(Exception):  # noqa: N818 (the name of the outcome)
    """What cannot be recorded."""


class Recorder:
    """The compilations of one request, and the launches it would have made."""

    def __init__(self, session: Session) -> None:
        self.session = session
        # The case's launch that is being made.
        self.launch = 0
        self.kernels: list[dict[str, Any]] = []
        self.blobs: list[bytes] = []
        self.invocations: list[dict[str, Any]] = []
        # The most configurations that a launched kernel's autotuner has.
        self.configs = 0
        self._known: dict[int, int] = {}
        self._compiled: list[Any] = []
        self._muted = False
        # Whether a tuner's own hook puts back what measuring left, which is not recorded.
        self.restores = False
        # Memory that the host has set to zero since the last launch.
        self._clears: list[dict[str, int]] = []
        session.host_writes = self

    def note_cleared(self, storage: int, starts: np.ndarray[Any, Any], size: int) -> None:
        """Notes that host code sets elements of a storage to zero."""
        ordered = np.unique(starts)
        if not len(ordered):
            return
        # Elements that follow each other are one run of bytes.
        firsts = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - size - 1) != size)
        ends = np.append(firsts[1:], len(ordered)) - 1
        for first, last in zip(ordered[firsts], ordered[ends]):
            run = {"storage": storage, "start": int(first), "len": int(last - first) + size}
            # A tuner clears the same tensors before each measurement.
            if run not in self._clears:
                self._clears.append(run)

    def note_copied(self, storage: int) -> None:
        """Notes that host code copies into a storage."""
        if not self.restores:
            raise Unsupported("memory that host code copies to between launches")

    def end(self) -> None:
        """Ends the recording."""
        if self._clears:
            raise Unsupported("memory that host code sets to zero after the last launch")

    @contextmanager
    def muted(self) -> Iterator[None]:
        """Launches are forgotten meanwhile."""
        before = self._muted
        self._muted = True
        try:
            yield
        finally:
            self._muted = before

    def add_kernel(self, compiled: Any, packed: Sequence[int]) -> int:
        """The index of a compiled kernel."""
        index = self._known.get(id(compiled))
        if index is None:
            index = self._known[id(compiled)] = len(self.kernels)
            # Objects that are known by their id must stay alive.
            self._compiled.append(compiled)
            metadata = compiled.metadata
            warps, ctas, shared, *cluster = packed
            # The IR of the last stage where there is no more than IR.
            last = compiled.asm.get("passes") or compiled.asm.get("ttgir")
            text = last if "ptx" not in compiled.asm else None
            blobs = [
                compiled.asm["cubin"],
                compiled.asm.get("ptx", "").encode(),
                (text or compiled.asm["ttir"]).encode(),
            ]
            self.blobs += blobs
            self.kernels.append(
                {
                    "name": metadata.name,
                    "num_warps": warps,
                    "num_ctas": ctas,
                    "cluster_dims": cluster or None,
                    "shared": shared,
                    "global_scratch": _scratch(metadata, "global"),
                    "profile_scratch": _scratch(metadata, "profile"),
                    "cooperative": bool(getattr(metadata, "launch_cooperative_grid", False)),
                    "pdl": bool(getattr(metadata, "launch_pdl", False)),
                    "sizes": [len(blob) for blob in blobs],
                }
            )
        return index

    def record(self, compiled: Any, packed: Sequence[int], grid: Sequence[int], params: list[Any]) -> None:
        """Notes a launch, if there is anything to launch."""
        # Triton's launchers multiply C ints.
        if not self._muted and ctypes.c_int32(grid[0] * grid[1] * grid[2]).value > 0:
            if min(grid) < 1:
                raise RuntimeError("Triton Error [CUDA]: invalid argument")
            kernel = self.add_kernel(compiled, packed)
            self.invocations.append(
                {
                    "launch": self.launch,
                    "kernel": kernel,
                    "grid": list(grid),
                    "params": params,
                    "clears": self._clears,
                }
            )
            self._clears = []


def _scratch(metadata: Any, kind: str) -> tuple[int, int] | None:
    size = getattr(metadata, f"{kind}_scratch_size", None)
    return None if size is None else (size, getattr(metadata, f"{kind}_scratch_align"))


class RecordingDriver(FakeDriver):
    """A driver for a GPU of some compute capability (80, 90), whose launches are recorded."""

    def __init__(self, recorder: Recorder, target: int) -> None:
        super().__init__(divmod(target, 10))
        self._recorder = recorder
        shared = SHARED.get(target, SHARED_ELSE)
        handles: Callable[..., tuple[int, ...]] = _load_binary
        self.utils = SimpleNamespace(
            get_device_properties=lambda _device: {
                "max_shared_mem": shared,
                "max_num_regs": 65536,
                "multiprocessor_count": MULTIPROCESSORS,
                "warpSize": 32,
                "sm_clock_rate": 1_980_000,
                "mem_clock_rate": 2_619_000,
                "mem_bus_width": 5120,
            },
            load_binary=handles,
            unload_module=lambda _module: None,
        )

    def launcher_cls(self, src: Any, metadata: Any) -> _Launcher:
        return _Launcher(self._recorder, src, metadata)

    @contextmanager
    def mute_measurements(self, restores: bool) -> Iterator[None]:
        """Launches that are made meanwhile measure a configuration, and are forgotten. The tuner may restore
        what they change."""
        before = self._recorder.restores
        self._recorder.restores = restores
        try:
            with self._recorder.muted():
                yield
        finally:
            self._recorder.restores = before


@contextmanager
def assemble_for(gpu: int | None) -> Iterator[None]:
    """Triton's assembler makes machine code for this GPU, whatever Triton compiles for; none: for that."""
    if gpu is None:
        yield
        return
    from triton.backends import backends

    backend: Any = backends["nvidia"].compiler
    declared = vars(backend)["make_cubin"]
    make = backend.make_cubin

    def make_for_gpu(*args: Any) -> Any:
        # The compute capability is the last argument, after the backend itself if that is an argument.
        return make(*args[:-1], gpu)

    # 3.0 to 3.2 have a function without the backend.
    backend.make_cubin = staticmethod(make_for_gpu) if isinstance(declared, staticmethod) else make_for_gpu
    try:
        yield
    finally:
        backend.make_cubin = declared


def _load_binary(*_: object) -> tuple[int, ...]:
    """Handles of module and function, registers, spilled registers, and from 3.4 the most threads."""
    handles = (1, 1, 0, 0)
    return (*handles, MAX_THREADS) if _VERSION >= (3, 4) else handles


# The compiled kernels that are being made ready to launch, innermost last.
_getting_ready: list[Any] = []


def prepare() -> None:
    """Lets launchers know their kernels, and tuners that they only measure. Those of 3.0 and 3.1 ask no
    driver: they get the driver's benchmark."""
    from triton.compiler import CompiledKernel
    from triton.runtime import autotuner
    from triton.runtime.driver import driver

    init_handles = CompiledKernel._init_handles

    def init_noted(self: Any) -> None:
        _getting_ready.append(self)
        try:
            init_handles(self)
        finally:
            _getting_ready.pop()

    CompiledKernel._init_handles = init_noted
    if hasattr(CompiledKernel, "__del__"):
        # It unloads what was never loaded, from a driver that may be gone.
        del CompiledKernel.__del__
    measure = autotuner.Autotuner._bench

    def measure_noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        # With the driver's benchmark, or the kernel's own. A configuration that does not compile is out, as
        # it is on a GPU.
        hook = self.post_hook
        restores = getattr(hook, "__module__", None) == autotuner.__name__
        with driver.active.mute_measurements(restores):
            return measure(self, *args, **kwargs)

    autotuner.Autotuner._bench = measure_noted
    if hasattr(autotuner, "do_bench"):

        def do_bench(call: Callable[[], object], **options: Any) -> Any:
            return driver.active.get_benchmarker()(call, quantiles=options.get("quantiles"))

        autotuner.do_bench = do_bench


class _Launcher:
    """Triton's `CudaLauncher`, up to the call of CUDA."""

    def __init__(self, recorder: Recorder, src: Any, metadata: Any) -> None:
        self._recorder = recorder
        self._compiled = _getting_ready[-1]
        self._maps = getattr(metadata, "tensordesc_meta", None)
        if _VERSION >= (3, 3):
            self._signature = list(src.signature.values())
        else:
            # Constants are among the arguments.
            self._signature = [
                "constexpr" if name in src.constants else kind for name, kind in src.signature.items()
            ]

    def __call__(
        self,
        grid_x: int,
        grid_y: int,
        grid_z: int,
        stream: int,
        function: int,
        packed: Sequence[int],
        launch_metadata: object,
        enter_hook: object,
        exit_hook: object,
        *args: Any,
    ) -> None:
        # As C ints, which is what they become.
        grid = [_integer("i32", size, checked=True) for size in (grid_x, grid_y, grid_z)]
        params: list[Any] = []
        maps = iter(self._maps or [])
        for kind, value in zip(self._signature, args):
            self._add(kind, value, params, maps)
        self._recorder.record(
            self._compiled, packed, [int.from_bytes(size, "little", signed=True) for size in grid], params
        )

    def _add(self, kind: Any, value: Any, params: list[Any], maps: Iterator[Mapping[str, Any]]) -> None:
        if isinstance(kind, tuple):
            for inner, item in zip(kind, value):
                self._add(inner, item, params, maps)
        elif kind == "constexpr":
            pass
        elif kind.startswith("tensordesc"):
            self._add_descriptor(value, params, next(maps, None) if self._maps else None)
        elif kind[0] == "*":
            params.append(self._pointer(value))
        else:
            place = self._recorder.session.find_passed(value)
            if place is None:
                params.append(_bytes(_number(kind, value)))
            elif kind in ("i64", "u64"):
                params.append(_address(place))
            else:
                raise Unsupported(f"an address that is passed as {kind}")

    def _pointer(self, value: Any) -> dict[str, Any]:
        if value is None:
            address = 0
        elif isinstance(value, int):
            address = value
        else:
            address = value.data_ptr()
        place = self._recorder.session.place(address) if address else None
        if place is not None:
            return _address(place)
        if address and not isinstance(value, int):
            raise Unsupported("an argument that the kernel's module made itself")
        return _bytes(_integer("u64", address))

    def _add_descriptor(self, value: Any, params: list[Any], how: Mapping[str, Any] | None) -> None:
        shape, strides = list(value.shape), list(value.strides)
        nan = getattr(value, "padding", "zero") == "nan"
        tf32 = bool(getattr(value, "round_f32_to_tf32", False))
        if how is None:
            params.append(self._pointer(value.base))
            params += [_bytes(_integer("i64", number)) for number in (*shape, *strides)]
            flags = [nan, tf32] if _VERSION >= (3, 7) else [nan] if _VERSION >= (3, 5) else []
            params += [_bytes(_integer("i1", flag)) for flag in flags]
        else:
            if how.get("is_im2col", False):
                raise Unsupported("a descriptor for im2col")
            kind = how["elem_type"]
            size = how["elem_size"]
            mapped = [*shape[:-1], shape[-1] * 2] if how["fp4_padded"] else shape
            place = self._pointer(value.base).get("address")
            if place is None:
                raise Unsupported("a descriptor of no memory")
            params.append(
                {
                    "tensor_map": {
                        **place,
                        "data_type": _TENSOR_MAP_TF32 if tf32 else _TENSOR_MAP_TYPES.get(kind, kind),
                        "element_size": size,
                        "shape": mapped,
                        "strides": [stride * size for stride in strides],
                        "block": list(how["block_size"]),
                        "swizzle": how["swizzle"],
                        "interleave": 0,
                        "fill": int(nan),
                    }
                }
            )
            if _VERSION < (3, 7):
                shape = mapped
        params += [_bytes(_integer("i32", size)) for size in shape]
        params += [_bytes(_integer("i64", stride)) for stride in strides]


def _address(place: tuple[int, int]) -> dict[str, Any]:
    return {"address": {"storage": place[0], "offset": place[1]}}


def _bytes(data: bytes) -> dict[str, Any]:
    return {"bytes": list(data)}


def _integer(kind: str, value: Any, *, checked: bool = _VERSION < (3, 7)) -> bytes:
    """An integer as the launcher passes it: up to 3.6 signed ones must fit, unsigned ones and all of later
    versions' lose their upper bits."""
    number = operator.index(value)
    form = _INTEGERS[kind]
    if kind == "i64" or (checked and kind in ("i8", "i16", "i32")):
        # Python's letter for a C char, which Triton takes for i8, is that of an unsigned one.
        form = "<B" if kind == "i8" else form
        try:
            return struct.pack(form, number)
        except struct.error:
            raise OverflowError(f"{number} does not fit {kind}") from None
    size = struct.calcsize(form)
    return (number % (1 << (8 * size))).to_bytes(size, "little")


def _number(kind: str, value: Any) -> bytes:
    """A number as the kernel reads it."""
    if kind in _INTEGERS:
        return _integer(kind, value)
    number = float(value)
    if kind == "fp64":
        return struct.pack("<d", number)
    # C's conversion, which turns values that are too large into infinities.
    single = bytes(ctypes.c_float(number))
    if kind in ("fp32", "f32"):
        return single
    if kind not in ("fp16", "bf16"):
        raise KeyError(kind)
    # Annotated parameters, from 3.4; bf16 is cut, not rounded.
    return struct.pack("<e", number) if kind == "fp16" else single[2:]
