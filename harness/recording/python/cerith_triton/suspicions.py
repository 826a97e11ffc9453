"""Signs of an attack by a submission of `cerith judge`: replaced functions, searches for the reference.

They only name a verdict. The judge executes launches itself, so that a program that hides them gains nothing.
"""

from __future__ import annotations

import ast
import os
import sys
import threading
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Callable, Iterator, Mapping, NamedTuple

from .arguments import is_torch, torch_of

# Modules and classes with functions that a judge may use. Those of our own package are added.
_MODULES = (
    "builtins",
    "gc",
    "inspect",
    "json",
    "json.encoder",
    "math",
    "numpy",
    "numpy._core.numeric",
    "numpy.testing",
    "os",
    "random",
    "struct",
    "sys",
    "threading",
    "time",
    "torch",
    "torch._refs",
    "torch.cuda",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.random",
    "torch.testing",
    "triton",
    "triton.language",
    "triton.language.core",
    "triton.language.math",
    "triton.language.standard",
    "triton.runtime.jit",
    "triton.testing",
)
_CLASSES = (
    ("json", "JSONEncoder"),
    ("torch", "Tensor"),
    ("torch.cuda", "Event"),
    ("torch.nn", "Module"),
    ("triton.runtime.jit", "JITFunction"),
    ("triton.runtime.jit", "KernelInterface"),
)
_OURS = ("cerith_", "__main__")
_GLOBAL_HOOKS = ("_global_forward_hooks", "_global_forward_pre_hooks", "_global_backward_hooks")
_MAX_TEXT = 200


class Suspicion(NamedTuple):
    """A sign of an attack."""

    kind: str
    """The verdict that it suggests: `tampering`, `reference-read` or `library-call`."""
    text: str
    line: int | None
    certain: bool
    """Whether no honest program does this."""


# Audit events: verdict, description, and whether the operation is refused.
_EVENTS: dict[str, tuple[str, str, bool]] = {
    "os.fork": ("tampering", "it forks", True),
    "os.forkpty": ("tampering", "it forks", True),
    "os.exec": ("tampering", "it replaces its process", True),
    "os.kill": ("tampering", "it sends a signal", True),
    "os.killpg": ("tampering", "it sends a signal", True),
    "subprocess.Popen": ("library-call", "it starts a child process", True),
    "os.posix_spawn": ("library-call", "it starts a child process", True),
    "os.system": ("library-call", "it starts a child process", True),
    "gc.get_objects": ("reference-read", "it searches the heap", True),
    "gc.get_referrers": ("reference-read", "it searches the heap", True),
    "gc.get_referents": ("reference-read", "it searches the heap", True),
    # Frames have the judge's variables.
    "object.__getattr__": ("tampering", "it reads its callers' frames", True),
    "sys._getframe": ("reference-read", "it reads its callers' frames", True),
    "sys._current_frames": ("reference-read", "it reads the frames of threads", True),
    "sys._current_exceptions": ("reference-read", "it reads the frames of threads", True),
    "sys.addaudithook": ("reference-read", "it listens to the process", True),
    "sys.settrace": ("reference-read", "it traces the process", False),
    "sys.setprofile": ("reference-read", "it profiles the process", False),
    "ctypes.string_at": ("reference-read", "it reads memory by an address", False),
    "ctypes.memmove": ("reference-read", "it copies memory by an address", False),
    "open": ("reference-read", "it opens a file", False),
    "os.listdir": ("reference-read", "it lists a folder", False),
    "os.scandir": ("reference-read", "it lists a folder", False),
}
_BY_ADDRESS = ("library-call", "it accesses memory by an address", False)
# Modules and names that access memory by its address, and contexts that hide calls from the judge.
_MEMORY_MODULES = ("_ctypes", "cffi", "ctypes", "mmap")
_MEMORY_NAMES = (
    "__array_interface__",
    "__array_struct__",
    "_construct_storage_from_data_pointer",
    "_to_dlpack",
    "ctypes",
    "ctypeslib",
    "to_dlpack",
)
_HIDING = (
    "DisableTorchFunction",
    "DisableTorchDispatch",
    "DispatchKeyGuard",
    "_pop_mode",
    "_pop_torch_",
    "_disable_current_modes",
)
_WALKERS = ("walk_tb", "walk_stack")
_FRAMES = ("tb_frame", "gi_frame", "cr_frame", "ag_frame")
_WITH_PATH = ("open", "os.listdir", "os.scandir")


class Watch:
    """Watches this process while a submission runs in it."""

    def __init__(self, path: str, note_read: Callable[[str, int | None], None] | None = None) -> None:
        """`path` is the submission's file. `note_read` gets reads of data that torch doesn't show: the module
        that reads, and the line."""
        self._path = path
        self._note_read = note_read
        self._found: dict[Suspicion, None] = {}
        self._inside = threading.local()
        self._before = {name: _list_functions(name, owner) for name, owner in _list_owners()}
        self._libraries = _Libraries()
        self._kernel_classes = set(_list_kernel_classes())
        self._settings = _read_settings()
        self._finders = [id(one) for one in sys.meta_path]
        self._tree = _parse(path)
        self._folder = os.path.realpath(os.getcwd())

    def start(self) -> None:
        """Listens to Python's audit events, for the rest of this process."""
        for suspicion in _scan(self._tree):
            self._add(suspicion)
        for module, line in _find_memory_access(self._tree):
            self._add_read(module, line)
        sys.addaudithook(self._hear)

    def list_suspicions(self) -> list[dict[str, Any]]:
        """The suspicions so far, the certain ones first."""
        self._compare()
        ordered = sorted(self._found, key=lambda one: not one.certain)
        return [one._asdict() for one in ordered]

    def inspect_result(self, values: list[Any]) -> None:
        """Suspects results that run code of the submission in the judge."""
        for value in values:
            kind = type(value)
            own = getattr(sys.modules.get(kind.__module__), "__file__", None) == self._path
            if own and (is_torch(value) or not isinstance(value, (tuple, list, dict))):
                text = f"it returns a `{kind.__qualname__}` of its own"
                self._add(Suspicion("tampering", text, self._find_class(kind.__name__), False))

    def note_decision(self, function: str, line: int | None) -> None:
        """Suspects host code that reads values of the data by a function of torch."""
        self._add(Suspicion("library-call", f"it reads values of the data by `{function}`", line, False))

    def _add_read(self, module: str, line: int | None) -> None:
        self.note_decision(module, line)
        if self._note_read is not None:
            self._note_read(module, line)

    def _add(self, suspicion: Suspicion) -> None:
        self._found.setdefault(suspicion)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        by_address = event.partition(".")[0] == "ctypes"
        known = _EVENTS.get(event, _BY_ADDRESS if by_address else None)
        if known is None or (event == "object.__getattr__" and arguments[1] not in _FRAMES):
            return
        if getattr(self._inside, "busy", False):
            return
        self._inside.busy = True
        try:
            frame = self._find_frame(direct=event.startswith(("sys.", "gc.", "ctypes.", "object.")))
            if frame is None or (event in _WITH_PATH and self._is_own(arguments)):
                return
            kind, text, refused = known
            if event in _WITH_PATH:
                text = f"{text}: {str(arguments[0])[:_MAX_TEXT]}"
            self._add(Suspicion(kind, text, frame.f_lineno, refused and kind == "tampering"))
            if by_address:
                self._add_read("ctypes", frame.f_lineno)
        finally:
            self._inside.busy = False
        if refused:
            # No hook is added after a `RuntimeError`.
            kind_of_error = RuntimeError if event == "sys.addaudithook" else PermissionError
            raise kind_of_error(f"{text}, which a submission may not")

    def _find_frame(self, direct: bool) -> FrameType | None:
        """The submission's frame that calls. `None` if another library calls for itself."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            file = frame.f_code.co_filename
            if file == self._path:
                return frame
            passed = file.startswith("<") and not file.startswith("<frozen importlib")
            library = not passed and _is_module(frame)
            library &= "site-packages" in file or "importlib" in file or "cerith_" in file
            # These return frames to their callers.
            passed |= os.path.basename(file) == "inspect.py" or frame.f_code.co_name in _WALKERS
            if library or (direct and not passed):
                return None
            frame = frame.f_back
        return None

    def _is_own(self, arguments: tuple[Any, ...]) -> bool:
        """Whether a file lies in this process's folder."""
        try:
            path = os.path.realpath(os.fsdecode(arguments[0]))
        except (TypeError, ValueError, OSError):
            # A descriptor.
            return True
        return path == self._path or path.startswith(self._folder + os.sep) or path == "/dev/null"

    def _compare(self) -> None:
        """Finds functions and settings that differ from before."""
        for name, owner in _list_owners():
            now = vars(owner)
            for attribute, (function, code) in self._before.get(name, {}).items():
                found = now.get(attribute)
                replaced = found is not function and not self._libraries.is_wrapper(found, function)
                if replaced or (code is not None and _code_of(found) is not code):
                    text = f"it replaces `{name}.{attribute}`"
                    self._add(Suspicion("tampering", text, self._find_store(attribute), True))
        for name, value in _read_settings().items():
            before = self._settings.get(name)
            if before != value:
                kind, certain = ("reference-read", False) if "mode" in name else ("tampering", name != "seed")
                self._add(Suspicion(kind, f"it changes torch's {name}", None, certain))
        for found_class in _list_kernel_classes():
            if found_class not in self._kernel_classes and not self._is_library_class(found_class):
                text = f"it defines `{found_class.__name__}`, a kernel that launches itself"
                self._add(Suspicion("tampering", text, self._find_class(found_class.__name__), True))
        for finder in sys.meta_path:
            module = getattr(type(finder), "__module__", None) or getattr(finder, "__module__", None)
            if id(finder) not in self._finders and self._is_submission(module):
                self._add(Suspicion("tampering", "it installs an import hook", None, True))

    def _is_library_class(self, kind: type) -> bool:
        """Whether a class is one of another package that this process has imported meanwhile."""
        module = sys.modules.get(kind.__module__)
        file = str(getattr(module, "__file__", None) or "")
        return "site-packages" in file and getattr(module, kind.__name__, None) is kind

    def _is_submission(self, module: str | None) -> bool:
        return getattr(sys.modules.get(str(module)), "__file__", None) == self._path

    def _find_store(self, attribute: str) -> int | None:
        """The line that assigns to an attribute."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Attribute) and node.attr == attribute and isinstance(node.ctx, ast.Store):
                return node.lineno
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setattr":
                return node.lineno
        return None

    def _find_class(self, name: str) -> int | None:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.ClassDef) and node.name == name:
                return node.lineno
        return None


class _Libraries:
    """Recognises functions of torch, which wraps some of its own when `torch._dynamo` is imported."""

    def __init__(self) -> None:
        file = getattr(torch_of(), "__file__", None)
        self._folder = os.path.join(os.path.dirname(file), "") if file else None
        self._codes: dict[str, set[CodeType]] = {}

    def is_wrapper(self, value: Any, original: Any) -> bool:
        """Whether a function has code of torch, and holds no function except the original one."""
        if value is original or value is None or type(value) in (bool, int, str):
            return True
        if type(value) is not FunctionType or not self._has_code(value):
            return False
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        held = [*cells, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        return all(self.is_wrapper(one, original) for one in held)

    def _has_code(self, function: FunctionType) -> bool:
        """Whether the code is in a module's file, which no submission can write. Names prove nothing."""
        file = function.__code__.co_filename
        module = sys.modules.get(str(function.__globals__.get("__name__")))
        if self._folder is None or not file.startswith(self._folder) or ".." in file:
            return False
        if module is None or vars(module) is not function.__globals__:
            return False
        if file not in self._codes:
            try:
                with open(file, "rb") as source:
                    whole = compile(source.read(), file, "exec", dont_inherit=True)
            except (OSError, SyntaxError, ValueError):
                return False
            self._codes[file] = set(_list_codes(whole))
        return function.__code__ in self._codes[file]


def _is_module(frame: FrameType) -> bool:
    """Whether a frame's code is that of a module. Others may have any name of a file."""
    module = sys.modules.get(str(frame.f_globals.get("__name__")))
    return module is not None and vars(module) is frame.f_globals


def _list_codes(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _list_codes(one)


def _list_owners() -> Iterator[tuple[str, Any]]:
    """Modules and classes whose functions are compared, by their names."""
    for name in _MODULES:
        module = sys.modules.get(name)
        if isinstance(module, ModuleType):
            yield name, module
    for name, kind in _CLASSES:
        found = getattr(sys.modules.get(name), kind, None)
        if isinstance(found, type):
            yield f"{name}.{kind}", found
    for name, module in list(sys.modules.items()):
        if name.startswith(_OURS) and isinstance(module, ModuleType):
            yield name, module
            for attribute, value in list(vars(module).items()):
                if isinstance(value, type) and value.__module__ == name:
                    yield f"{name}.{attribute}", value


def _list_kernel_classes() -> Iterator[type]:
    """The classes of kernels and of their wrappers."""
    module = sys.modules.get("triton.runtime.jit")
    left = [getattr(module, name) for name in ("KernelInterface", "JITCallable") if hasattr(module, name)]
    while left:
        kind = left.pop()
        yield kind
        left += type.__subclasses__(kind)


def _list_functions(name: str, owner: Any) -> Mapping[str, tuple[Any, Any]]:
    """The functions of a module or a class; with their code, which may be replaced too, if they are ours."""
    ours = name.startswith(_OURS)
    return {
        attribute: (value, _code_of(value) if ours else None)
        for attribute, value in vars(owner).items()
        if callable(value) or isinstance(value, (property, staticmethod, classmethod))
    }


def _code_of(function: Any) -> Any:
    return getattr(function, "__code__", None)


def _read_settings() -> dict[str, Any]:
    """Settings of torch that change the results of others."""
    torch = torch_of()
    if torch is None:
        return {}
    module = sys.modules.get("torch.nn.modules.module")
    hooks = sum(len(getattr(module, name, ())) for name in _GLOBAL_HOOKS)
    lengths = {
        "dispatch mode": getattr(torch._C, "_len_torch_dispatch_stack", None),
        "function mode": getattr(torch._C, "_len_torch_function_stack", None),
    }
    modes = {name: length() for name, length in lengths.items() if length is not None}
    return {
        "default dtype": torch.get_default_dtype(),
        "global hooks": hooks,
        "seed": torch.initial_seed(),
        **modes,
    }


def _find_memory_access(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The modules and names that access memory by an address, with their lines. Not all of it is audited."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [one.name.partition(".")[0] for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module).partition(".")[0], *(one.name for one in node.names)]
        elif isinstance(node, (ast.Attribute, ast.Name, ast.Constant)):
            text = getattr(node, "attr", getattr(node, "id", getattr(node, "value", None)))
            names = [text] if isinstance(text, str) else []
        else:
            continue
        for name in names:
            if name in _MEMORY_NAMES or (name in _MEMORY_MODULES and not isinstance(node, ast.Constant)):
                yield name, getattr(node, "lineno", 0)


def _parse(path: str) -> ast.AST:
    try:
        with open(path, encoding="utf-8") as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


def _scan(tree: ast.AST) -> Iterator[Suspicion]:
    """Searches of a submission that no audit event shows."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", None)
        named = str(getattr(node, "attr", getattr(node, "name", "")))
        if any(text in named for text in _HIDING):
            yield Suspicion("tampering", "it hides calls of torch from the judge", line, True)
        if isinstance(node, ast.Attribute):
            owner = getattr(node.value, "id", "")
            if node.attr == "__subclasses__":
                yield Suspicion("reference-read", "it lists subclasses", line, False)
            elif owner == "sys" and node.attr == "modules":
                yield Suspicion("reference-read", "it searches the loaded modules", line, False)
            elif owner == "os" and node.attr in ("read", "readv", "pread"):
                yield Suspicion("reference-read", "it reads open files", line, False)
            elif node.attr == "Library" and getattr(node.value, "attr", owner) == "library":
                yield Suspicion("tampering", "it replaces operators of torch", line, False)
            elif node.attr in ("ptrace", "process_vm_readv", "process_vm_writev"):
                yield Suspicion("reference-read", "it reads the memory of processes", line, False)
            elif owner == "sys" and node.attr == "argv":
                yield Suspicion("reference-read", "it reads the command line", line, False)
            elif (owner, node.attr) in (("inspect", "stack"), ("inspect", "currentframe")) or (
                node.attr in ("f_back", "f_locals")
            ):
                yield Suspicion("reference-read", "it reads its callers' frames", line, False)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value.startswith("/proc/"):
                yield Suspicion("reference-read", f"it reads {node.value[:_MAX_TEXT]}", line, False)
        elif isinstance(node, ast.Assign):
            if any(getattr(target, "id", "") == "result_gold" for target in node.targets):
                yield Suspicion("tampering", "it defines the results of the task's test", line, False)
