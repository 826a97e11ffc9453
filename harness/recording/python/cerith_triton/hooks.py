"""Hooks into Triton, from 3.0 on, and into TorchInductor: around every launch, and around benchmarks.

Modules that are not imported yet get their hooks on import. Hooks stay for the life of the
process, and costs next to nothing while no recorder is active.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import sys
import threading
from types import ModuleType
from typing import TYPE_CHECKING, Any, Callable, Mapping, Protocol, Sequence
from weakref import WeakKeyDictionary

from . import executed, tuner
from .definition import function_of
from .failures import Unsayable
from .storages import is_capturing

if TYPE_CHECKING:
    from .launch import Call, Launch
    from .recorder import Recorder

# The recorders that are started.
active: tuple[Recorder, ...] = ()


class Executor(Protocol):
    """Executes launches in place of Triton."""

    def execute(self, call: Call, grid: Any) -> None:
        """Executes a launch; its grid may be a function of the parameters."""

    def refuse(self, reason: str) -> None:
        """Raises for a launch that cannot be executed in place of Triton."""

    def choose_configuration(self, tuner: Any, name: str, configurations: Sequence[Any]) -> Any:
        """The configuration that an autotuner takes without measuring, before its cache has it."""


# While there is one, no launch reaches Triton or a recorder.
executor: Executor | None = None
# Whether tuners that are made without a GPU will be used by checks.
_prepared = False

_thread = threading.local()
# Kernels by the functions that the interpreter made of them, from 3.2 on.
_rewritten: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
# Parameters of kernels, and their defaults.
_parameters: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


class _Muted:
    """While benchmarks run: their launches are not the program's."""

    def __enter__(self) -> None:
        _thread.muted = getattr(_thread, "muted", 0) + 1

    def __exit__(self, *_: object) -> None:
        _thread.muted -= 1


def _silent() -> bool:
    return not active or getattr(_thread, "muted", 0) > 0


def _arranged(
    function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and options of a call, as Triton arranges them."""
    parameters = _parameters.get(function)
    if parameters is None:
        parameters = _parameters[function] = {
            name: parameter.default for name, parameter in inspect.signature(function).parameters.items()
        }
    values = dict(parameters)
    values.update(zip(parameters, args))
    options = {}
    for name, value in kwargs.items():
        if name in parameters:
            values[name] = value
        elif name not in ("grid", "warmup"):
            options[name] = value
    return values, options


def _call(kernel: Any, launcher: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
    from .launch import Call

    function = function_of(kernel)
    values, options = _arranged(function, args, kwargs)
    return Call(kernel, function.__name__, launcher, values, options, None)


def _decided(kernel: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
    """A launch of Inductor's tuner."""
    from .launch import Call

    values, options, grid = tuner.read_decision(kernel, args, kwargs.get("grid"))
    return Call(kernel.fn, kernel.fn.__name__, "inductor", values, options, grid)


def _held(args: Sequence[Any]) -> dict[int, bytes]:
    most = max((one.options.max_bytes if one.options.data else -1 for one in active), default=-1)
    try:
        return tuner.copy_contents(args, most) if most >= 0 and not is_capturing() else {}
    except Exception:  # noqa: BLE001 (then they are not kept)
        return {}


def _begun(make: Callable[[], Call], held: Mapping[int, bytes] | None = None) -> list[Launch]:
    """The launch, for each recorder that may keep it. `held` has what was in its storages, if it is over."""
    try:
        call = make()
    except Exception as error:  # noqa: BLE001 (nothing reaches the program)
        for recorder in active:
            recorder.count_missed(error)
        return []
    launches = []
    for recorder in active:
        launch = recorder.launch(call, held)
        if launch is not None:
            launches.append(launch)
            if call.grid is not None:
                launch.begin(call.grid)
    return launches


def _watched(launches: list[Launch], grid: Any, kernel: Any) -> Any:
    """A grid that reports its value. A callable grid is called once, after the kernel's own hooks,
    whose work is not the launch's."""
    if callable(grid) or getattr(kernel, "pre_run_hooks", None):

        def resolve_observed(*args: Any, **kwargs: Any) -> Any:
            sizes = grid(*args, **kwargs) if callable(grid) else grid
            for launch in launches:
                launch.begin(sizes)
            return sizes

        return resolve_observed
    for launch in launches:
        launch.begin(grid)
    return grid


def _followed(launches: list[Launch], run: Callable[[], Any]) -> Any:
    try:
        result = run()
    except BaseException as error:
        for launch in launches:
            launch.end(error)
        raise
    for launch in launches:
        launch.end(None)
    return result


def _execute(
    to: Executor, kernel: Any, hooked: Any, launcher: str, args: Any, kwargs: Mapping[str, Any], grid: Any
) -> None:
    """Has a launch executed in place of Triton, which would refuse missing and unknown arguments."""
    call = _call(kernel, launcher, args, kwargs)
    if len(args) > len(call.values):
        raise TypeError(f"{call.name}() takes {len(call.values)} arguments, but {len(args)} were given")
    for name, value in call.values.items():
        if value is inspect.Parameter.empty:
            raise TypeError(f"{call.name}() has no value for `{name}`")
    for hook in getattr(hooked, "pre_run_hooks", None) or ():
        hook(*args, **{name: value for name, value in kwargs.items() if name not in ("grid", "warmup")})
    to.execute(call, grid)


def _patch_jit(module: ModuleType) -> None:
    kind = module.JITFunction
    original = kind.run

    @functools.wraps(original)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if executor is not None and not kwargs.get("warmup"):
            return _execute(executor, self, self, "cuda", args, kwargs, kwargs.get("grid"))
        if _silent() or kwargs.get("warmup"):
            return original(self, *args, **kwargs)
        launches = _begun(lambda: _call(self, "cuda", args, kwargs))
        if launches and kwargs.get("grid") is not None:
            kwargs["grid"] = _watched(launches, kwargs["grid"], self)
        return _followed(launches, lambda: original(self, *args, **kwargs))

    kind.run = run


def _ready(kernel: Any, args: Sequence[Any], grid: Any) -> Call:
    """A launch of a kernel that was compiled before."""
    from .launch import Call

    function = kernel.src.fn
    names = list(function.arg_names)
    constants = {tuner.parameter_of(key, names): value for key, value in kernel.src.constants.items()}
    # Up to 3.2, constexprs are not passed again.
    given = [one.name for one in function.params if len(args) == len(names) or not one.is_constexpr]
    values = {**constants, **dict(zip(given, args))}
    options = {name: getattr(kernel.metadata, name, None) for name in tuner.OPTIONS}
    return Call(function, function.__name__, "cuda", {name: values[name] for name in names}, options, grid)


def _patch_compiled(module: ModuleType) -> None:
    kind = module.CompiledKernel
    original = kind.__getitem__

    @functools.wraps(original)
    def bind_grid(self: Any, grid: Any) -> Any:
        runner = original(self, grid)

        @functools.wraps(runner)
        def run(*args: Any, **kwargs: Any) -> Any:
            if executor is not None:
                return executor.execute(_ready(self, args, grid), grid)
            if _silent():
                return runner(*args, **kwargs)
            return _followed(_begun(lambda: _ready(self, args, grid)), lambda: runner(*args, **kwargs))

        return run

    kind.__getitem__ = bind_grid


def _patch_interpreter(module: ModuleType) -> None:
    kind = module.GridExecutor
    original = kind.__call__

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if executor is not None and not kwargs.get("warmup"):
            kernel = _rewritten.get(self.fn, self.fn)
            return _execute(executor, kernel, self, "interpret", args, kwargs, self.grid)
        if _silent() or kwargs.get("warmup"):
            return original(self, *args, **kwargs)
        launches = _begun(lambda: _call(_rewritten.get(self.fn, self.fn), "interpret", args, kwargs))
        observed = self
        if launches:
            observed = copy.copy(self)
            observed.grid = _watched(launches, self.grid, self)
        return _followed(launches, lambda: original(observed, *args, **kwargs))

    kind.__call__ = call

    function = module.InterpretedFunction
    initialise = function.__init__

    @functools.wraps(initialise)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        initialise(self, *args, **kwargs)
        # Without its text, a launch of it is skipped.
        with contextlib.suppress(Exception):
            executed.keep(self.fn)

    function.__init__ = init
    if hasattr(function, "rewrite"):
        rewrite = function.rewrite

        @functools.wraps(rewrite)
        def rewrite_observed(self: Any) -> Any:
            made = rewrite(self)
            with contextlib.suppress(TypeError):
                _rewritten.setdefault(made, self)
            return made

        function.rewrite = rewrite_observed


def _can_measure() -> bool:
    """Whether there is a driver that a tuner could measure configurations with."""
    if executor is not None:
        return False
    try:
        from triton.runtime.driver import driver

        # Any attribute makes the driver, which fails without a GPU.
        return hasattr(driver.active, "get_current_device")
    except Exception:  # noqa: BLE001 (a driver may fail in any way)
        return False


def _unmeasured(*_: object, **__: object) -> list[float]:
    """A tuner's times of a configuration that was not measured: all are equal, so the first is taken."""
    return [1.0, 1.0, 1.0]


def _patch_autotuner(module: ModuleType) -> None:
    kind = module.Autotuner
    original, initialise, prune = kind._bench, kind.__init__, kind.prune_configs
    names = list(inspect.signature(initialise).parameters)

    @functools.wraps(initialise)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        # In 3.2 and 3.3 a tuner without a `do_bench` asks the driver for one.
        at = names.index("do_bench") - 1 if "do_bench" in names else -1
        used = active or executor or _prepared
        if used and len(args) <= at and kwargs.get("do_bench") is None and not _can_measure():
            kwargs["do_bench"] = _unmeasured
        initialise(self, *args, **kwargs)

    @functools.wraps(original)
    def run_muted(self: Any, *args: Any, **kwargs: Any) -> Any:
        if (active or executor) and not _can_measure():
            return _unmeasured()
        with _Muted():
            return original(self, *args, **kwargs)

    @functools.wraps(prune)
    def prune_observed(self: Any, *args: Any, **kwargs: Any) -> Any:
        configs = list(prune(self, *args, **kwargs))
        if not (active or executor) or len(configs) < 2 or _can_measure():
            return configs
        name = getattr(getattr(self, "base_fn", None), "__name__", "a kernel")
        if executor is not None:
            chosen = executor.choose_configuration(self, name, configs)
            return [chosen, *(config for config in configs if config is not chosen)]
        chosen = configs[min(active[0].options.config, len(configs) - 1)]
        for recorder in active:
            recorder.note(
                f"there is no GPU to tune `{name}` with: it is launched with one of its {len(configs)} "
                f"configurations, {chosen}"
            )
        return [chosen, *(config for config in configs if config is not chosen)]

    kind.__init__, kind._bench, kind.prune_configs = init, run_muted, prune_observed


def _patch_inductor(module: ModuleType) -> None:
    kind = module.CachingAutotuner
    original = kind.run

    @functools.wraps(original)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if executor is not None and not getattr(self, "triton_interpret", False):
            return executor.refuse("it is a kernel of torch.compile")
        # Interpreted, it goes on to Triton's own launch.
        if _silent() or getattr(self, "triton_interpret", False) or kwargs.get("benchmark_run"):
            return original(self, *args, **kwargs)
        if tuner.is_decided(self):
            launches = _begun(lambda: _decided(self, args, kwargs))
            return _followed(launches, lambda: original(self, *args, **kwargs))
        # It tries configurations, and launches with the best. It leaves the arguments as they were for that.
        held = _held(args)
        result = original(self, *args, **kwargs)
        for launch in _begun(lambda: _decided(self, args, kwargs), held):
            launch.end(None)
        return result

    kind.run = run


_PATCHES: dict[str, Callable[[ModuleType], None]] = {
    "triton.runtime.jit": _patch_jit,
    "triton.compiler.compiler": _patch_compiled,
    "triton.runtime.interpreter": _patch_interpreter,
    "triton.runtime.autotuner": _patch_autotuner,
    "torch._inductor.runtime.triton_heuristics": _patch_inductor,
}


class _Finder:
    """Meets modules of Triton and torch when they are imported."""

    def __init__(self) -> None:
        self.waiting = dict(_PATCHES)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        patch = self.waiting.get(name)
        if patch is None:
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = None if finder is self or find is None else find(name, path, target)
            if spec is not None:
                break
        else:
            return None
        if spec.loader is not None and hasattr(spec.loader, "exec_module"):
            execute = spec.loader.exec_module

            def executed_module(module: ModuleType) -> None:
                execute(module)
                self.add_hooks(name, module)

            spec.loader.exec_module = executed_module
        return spec

    def add_hooks(self, name: str, module: ModuleType) -> None:
        """Puts the hooks of a module in place, once."""
        patch = self.waiting.pop(name, None)
        if patch is not None:
            if name == "triton.runtime.jit":
                version = str(getattr(sys.modules.get("triton"), "__version__", ""))
                for recorder in active:
                    recorder.note_import(version)
            try:
                patch(module)
            except AttributeError as error:
                print(f"cerith: launches of this {name} cannot be recorded: {error}", file=sys.stderr)
        if not self.waiting and self in sys.meta_path:
            sys.meta_path.remove(self)


_finder = _Finder()


def install() -> None:
    """Puts the hooks in place where there is a Triton, and where there will be one."""
    if _finder.waiting and _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    for name in list(_finder.waiting):
        module = sys.modules.get(name)
        # One that is being imported is met at its end.
        if module is not None and not getattr(module.__spec__, "_initializing", False):
            _finder.add_hooks(name, module)


def prepare() -> None:
    """Puts the hooks in place for checks: from now on autotuners can be made without a GPU."""
    global _prepared
    _prepared = True
    install()


_targets: dict[int, int] = {}


def find_target() -> int:
    """The compute capability of the current GPU, as Triton says it.

    Raises `Unsayable` for a device that is not CUDA's.
    """
    from triton.runtime.driver import driver

    device = driver.active.get_current_device()
    if device not in _targets:
        found = driver.active.get_current_target()
        if found.backend != "cuda":
            raise Unsayable(f"a kernel for {found.backend}")
        _targets[device] = int(found.arch)
    return _targets[device]
