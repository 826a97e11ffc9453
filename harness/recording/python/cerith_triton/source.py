"""A kernel's text, with everything that it needs: files that import Triton and the standard library only.

There is one file for each Python module that the kernel uses, pruned to its needs; if two
functions need different values of one name, the module gets another file. Values that a file cannot
express (an object, a module passed around) are `Unsayable`.
"""

from __future__ import annotations

import builtins
import enum
import hashlib
import keyword
import math
import os
import re
import sys
from types import ModuleType
from typing import Any, Mapping, NamedTuple, Sequence

from .definition import (
    MISSING,
    Definition,
    definition_of,
    function_of,
    is_callable,
    is_standard,
    is_tritons,
    lookup,
)
from .failures import Unsayable
from .values import is_constexpr, is_dtype, language_name, type_of

# Names that every kernel's module has.
_ALWAYS = ("triton", "torch", "numpy")


class Source(NamedTuple):
    """What a recording says of a kernel."""

    function: str
    # Names, and texts; the kernel's first.
    files: tuple[tuple[str, str], ...]
    # Whether Triton's interpreter could see it.
    inspectable: bool
    # File and line.
    origin: str
    digest: str
    # The first file's names for functions and enum members that are arguments, by their `id`.
    names: dict[int, str]
    # Values that it was made of, which a user may change: mapping, name, value.
    watched: tuple[tuple[Mapping[str, Any], str, Any], ...]

    def current(self) -> bool:
        """Whether it would come out the same now."""
        return all(mapping.get(name, MISSING) is value for mapping, name, value in self.watched)


def source_of(kernel: Any, extras: Sequence[Any] = ()) -> Source:
    """The source of a kernel (what Triton's decorators made, or the function itself) that is given `extras`
    as arguments.

    Raises `Unsayable` where it needs what a file cannot say.
    """
    builder = _Builder()
    made = definition_of(kernel, launched=True)
    if made is None:
        raise Unsayable(f"a kernel that is a {type_of(kernel)}")
    file, name = builder.place(made, None)
    names = {id(extra): builder.write_expression(file, extra, "an argument") for extra in extras}
    files = builder.files_from(file, made.name)
    texts = [(f"{one.title}.py", one.text()) for one in files]
    for title, text in texts:
        try:
            compile(text, title, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            raise Unsayable(f"its text does not compile alone: {error}") from error
    code = made.function.__code__
    return Source(
        name,
        tuple(texts),
        made.inspectable,
        f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}",
        hashlib.blake2b(repr((name, texts, made.inspectable)).encode(), digest_size=16).hexdigest(),
        names,
        tuple(builder.watched),
    )


def _importable(value: Any) -> tuple[str, str] | None:
    """Module and name by which a function or class of Triton's or Python's own is imported."""
    inner = function_of(value)
    module, name = getattr(inner, "__module__", None), getattr(inner, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    if not (is_tritons(module) or is_standard(module)):
        return None
    # Triton's private names differ in every version.
    if name.startswith("_") and not isinstance(inner, type) and not hasattr(value, "__triton_builtin__"):
        return None
    return (module, name) if hasattr(sys.modules.get(module), name) else None


def _key(value: Any) -> Any:
    """What tells whether two values of one name are the same."""
    if isinstance(value, ModuleType):
        return ("module", value.__name__)
    if is_callable(value):
        return ("function", id(function_of(value)))
    if is_constexpr(value):
        return ("constexpr", _key(value.value))
    if isinstance(value, (tuple, list)):
        return (type(value), tuple(_key(item) for item in value))
    return (type(value), repr(value)) if _is_constant(value) else ("object", id(value))


def _is_constant(value: Any) -> bool:
    return value is None or value is Ellipsis or isinstance(value, (bool, int, float, complex, str, bytes))


class _File:
    """A file in the making: part of one Python module."""

    def __init__(self, made: Definition, bound: dict[str, Any]) -> None:
        self.module = made.module
        # None as long as nothing in it says.
        self.future = made.future
        self.title = ""
        # Names, and what tells what they are.
        self.bound = bound
        # Definitions of this file, by `id`.
        self.defined: dict[int, str] = {}
        self.imports: list[tuple[str, Any]] = []
        # Files that replace modules, by their names here.
        self.modules: dict[str, _File] = {}
        self.body: list[str] = []
        # Files that it imports from.
        self.below: list[_File] = []
        self.triton = self._header(made, "triton", "triton")
        self.language = self._header(made, "tl", "triton.language")

    def _header(self, made: Definition, name: str, module: str) -> str:
        """The name by which the file itself calls a module."""
        while name in made.needs and _key(lookup(made.function, name)) != ("module", module):
            name = f"_{name}"
        self.bound[name] = ("module", module)
        text = f"import {module} as {name}" if module != name else f"import {module}"
        self.imports.append((text, None))
        return name

    def fits(self, made: Definition, wanted: Mapping[str, Any]) -> bool:
        """Whether every name can mean here what a function wants it to mean."""
        if self.module != made.module or self.future not in (made.future, None):
            return False
        own = ("function", id(made.function))
        wanted = {**wanted, made.name: wanted.get(made.name, own)}
        return wanted[made.name] == own and all(
            self.bound.get(name, key) == key for name, key in wanted.items()
        )

    def is_above(self, other: _File) -> bool:
        """Whether importing this file imports another (or is that)."""
        return self is other or any(file.is_above(other) for file in self.below)

    def text(self) -> str:
        """The finished text."""
        lines = ["from __future__ import annotations\n"] if self.future else []
        own = sorted({text for text, file in self.imports if file is None and not _tritons_line(text)})
        tritons = [text for text, file in self.imports if file is None and _tritons_line(text)]
        siblings = sorted(
            {
                re.sub(r"^import (\w+) as \1$", r"import \1", text.format(file.title))
                for text, file in self.imports
                if file is not None
            }
        )
        groups = [own, list(dict.fromkeys(tritons)), siblings]
        lines += ["".join(f"{line}\n" for line in group) for group in groups if group]
        text = "\n".join(lines)
        before = "\n"
        for part in self.body:
            # A definition brings the lines before it.
            defines = part.startswith("\n")
            text += part if defines else f"{before}{part}"
            before = "\n\n" if defines else ""
        return text


def _marker(text: str, path: str, line: int, column: int) -> str:
    """A comment that maps the lines of a definition to the user's own file. Cerith reads it."""
    path = os.path.abspath(path)
    here = os.path.join(os.getcwd(), "")
    path = path[len(here) :] if path.startswith(here) else path
    path = path.replace("\n", " ")
    return f"# cerith_triton: the next {len(text.splitlines())} lines are {path}:{line}:{column}"


def _tritons_line(text: str) -> bool:
    return text.split()[1].partition(".")[0] == "triton"


class _Builder:
    """The files of one kernel."""

    def __init__(self) -> None:
        self.files: list[_File] = []
        self.watched: list[tuple[Mapping[str, Any], str, Any]] = []

    def place(self, made: Definition, user: _File | None) -> tuple[_File, str]:
        """The file that defines something for `user`, and its name there."""
        wanted = self._wanted(made)
        for file in self.files:
            allowed = user is None or file is user or not file.is_above(user)
            if allowed and id(made.function) in file.defined and file.module == made.module:
                self._link(user, file)
                return file, made.name
        for file in self.files:
            allowed = user is None or file is user or not file.is_above(user)
            if allowed and file.fits(made, wanted):
                break
        else:
            file = _File(made, {})
            self.files.append(file)
        self._link(user, file)
        self.watched += made.watched
        file.future = made.future
        file.defined[id(made.function)] = made.name
        file.bound[made.name] = ("function", id(made.function))
        file.bound.update(wanted)
        for name, chains in made.needs.items():
            value = lookup(made.function, name)
            if name in wanted:
                self._watch(made.function, name, value)
                self._bind(file, name, value, chains, made)
        decorator = made.decorator.format(triton=file.triton)
        lines = [decorator] if decorator else []
        if made.place is not None:
            lines.append(_marker(made.text, *made.place))
        file.body.append("\n\n" + "".join(f"{line}\n" for line in lines) + made.text)
        return file, made.name

    def _wanted(self, made: Definition) -> dict[str, Any]:
        wanted = {}
        for name in made.needs:
            value = lookup(made.function, name)
            if value is not MISSING and value is not vars(builtins).get(name, MISSING):
                wanted[name] = _key(value)
        return wanted

    def _watch(self, function: Any, name: str, value: Any) -> None:
        scope = getattr(function, "__globals__", None)
        if scope is not None and scope.get(name, MISSING) is value and not isinstance(value, ModuleType):
            self.watched.append((scope, name, value))

    @staticmethod
    def _link(user: _File | None, file: _File) -> None:
        if user is not None and user is not file and file not in user.below:
            user.below.append(file)

    def _bind(
        self, file: _File, name: str, value: Any, chains: Sequence[tuple[str, ...]], made: Definition
    ) -> None:
        """Makes a name of a file mean a value."""
        if isinstance(value, ModuleType):
            self._bind_module(file, name, value, chains, made)
            return
        line = f"{name} = "
        own = self._definition(file, value)
        if own == name:
            return
        if own is None:
            place = _importable(value) if is_callable(value) else None
            if place is not None:
                module, original = place
                renamed = "" if original == name else f" as {name}"
                self._import(file, f"from {module} import {original}{renamed}", None)
                return
            target = definition_of(value) if is_callable(value) else None
            if target is not None:
                home, original = self.place(target, file)
                renamed = "" if original == name else f" as {name}"
                if home is not file:
                    self._import(file, f"from {{}} import {original}{renamed}", home)
                elif original != name:
                    self._say(file, f"{line}{original}\n")
                return
        annotations = vars(sys.modules.get(made.module, builtins)).get("__annotations__")
        scope = getattr(made.function, "__globals__", {})
        annotations = scope.get("__annotations__", annotations)
        annotation = annotations.get(name) if isinstance(annotations, dict) else None
        if annotation is not None and "constexpr" in (
            annotation if isinstance(annotation, str) else repr(annotation)
        ):
            line = f"{name}: {file.language}.constexpr = "
        text = own or self.write_expression(file, value, f"`{made.name}` uses `{name}`, which")
        self._say(file, f"{line}{text}\n")

    def _bind_module(
        self, file: _File, name: str, module: ModuleType, chains: Sequence[tuple[str, ...]], made: Definition
    ) -> None:
        path = module.__name__
        if is_tritons(path) or is_standard(path):
            parent, _, last = path.rpartition(".")
            if name == path:
                text = f"import {path}"
            elif parent and last == name:
                text = f"from {parent} import {name}"
            else:
                text = f"import {path} as {name}"
            if (name, path) not in ((file.triton, "triton"), (file.language, "triton.language")):
                self._import(file, text, None)
            return
        for chain in chains:
            if not chain:
                raise Unsayable(f"`{made.name}` uses the module `{name}` as a value")
            value = getattr(module, chain[0], MISSING)
            if value is MISSING:
                continue
            home = self._part(module, name, file, chain[0], value)
            self._import(file, f"import {{}} as {name}", home)
            if not isinstance(value, ModuleType) and vars(module).get(chain[0], MISSING) is value:
                self.watched.append((vars(module), chain[0], value))
            self._bind(home, chain[0], value, [chain[1:]], self._stand_in(module))

    def _part(self, module: ModuleType, bound: str, user: _File, name: str, value: Any) -> _File:
        """The file that stands for a module which `user` names `bound`, and has `name` in it."""
        stand_in = self._stand_in(module)
        wanted = {name: _key(value)}
        file = user.modules.get(bound)
        if file is None:
            for file in self.files:
                fits = all(file.bound.get(one, key) == key for one, key in wanted.items())
                if file.module == module.__name__ and not file.is_above(user) and fits:
                    break
            else:
                file = _File(stand_in, {})
                self.files.append(file)
            user.modules[bound] = file
        elif file.bound.get(name, wanted[name]) != wanted[name]:
            raise Unsayable(f"`{bound}.{name}` is two things")
        self._link(user, file)
        file.bound.update(wanted)
        return file

    @staticmethod
    def _stand_in(module: ModuleType) -> Definition:
        return Definition(module.__name__, module, "", "", module.__name__, True, None, {})

    def _definition(self, file: _File, value: Any) -> str | None:
        """The name under which a file defines a value, if it does."""
        if not is_callable(value):
            return None
        return file.defined.get(id(function_of(value)))

    @staticmethod
    def _import(file: _File, text: str, home: _File | None) -> None:
        if (text, home) not in file.imports:
            file.imports.append((text, home))

    @staticmethod
    def _say(file: _File, line: str) -> None:
        if line not in file.body:
            file.body.append(line)

    def write_expression(self, file: _File, value: Any, who: str) -> str:
        """An expression of a file for a value. `who` has it, for the error."""
        if isinstance(value, float) and not isinstance(value, enum.Enum):
            value = float(value)
            return repr(value) if math.isfinite(value) else f'float("{value}")'
        if isinstance(value, enum.Enum):
            return f"{self._named(file, type(value), who)}.{value.name}"
        if _is_constant(value) and type(value).__module__ == "builtins":
            return repr(value)
        if is_constexpr(value):
            return f"{file.language}.constexpr({self.write_expression(file, value.value, who)})"
        if is_dtype(value) and str(language_name(value)).isidentifier():
            return f"{file.language}.{language_name(value)}"
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            items = ", ".join(self.write_expression(file, item, who) for item in value)
            return f"{self._named(file, type(value), who)}({items})"
        if type(value) is tuple:
            items = "".join(f"{self.write_expression(file, item, who)}, " for item in value)
            return f"({items.rstrip() if len(value) == 1 else items[:-2]})"
        if type(value) is list:
            return f"[{', '.join(self.write_expression(file, item, who) for item in value)}]"
        if type(value) is dict:
            pairs = (
                f"{self.write_expression(file, key, who)}: {self.write_expression(file, item, who)}"
                for key, item in value.items()
            )
            return f"{{{', '.join(pairs)}}}"
        if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
            return self.write_expression(file, value.item(), who)
        if is_callable(value):
            return self._named(file, value, who)
        raise Unsayable(f"{who} is a {type_of(value)}")

    def _named(self, file: _File, value: Any, who: str) -> str:
        """The name of a function or class in a file, which imports it if need be."""
        own = self._definition(file, value)
        if own is not None:
            return own
        for name, key in file.bound.items():
            if key == _key(value):
                return name
        place = _importable(value)
        made = None if place is not None else definition_of(value)
        if place is None and made is None:
            raise Unsayable(f"{who} is a {type_of(value)}")
        wished = place[1] if place is not None else made.name if made is not None else ""
        name = wished
        while file.bound.get(name, _key(value)) != _key(value) or keyword.iskeyword(name):
            name = f"{name}_"
        renamed = "" if wished == name else f" as {name}"
        if place is not None:
            self._import(file, f"from {place[0]} import {wished}{renamed}", None)
        elif made is not None:
            home, _ = self.place(made, file)
            if home is not file:
                self._import(file, f"from {{}} import {wished}{renamed}", home)
        file.bound[name] = _key(value)
        return name

    def files_from(self, first: _File, kernel: str) -> list[_File]:
        """The files, with their names, the kernel's first."""
        # Beside other files, which may import what would be hidden by it.
        first.title = f"{kernel}_kernel" if is_standard(kernel) or kernel in _ALWAYS else kernel
        taken = {first.title}
        for file in self.files:
            if file is not first:
                parts = file.module.replace("__main__", "main").split(".")
                title = re.sub(r"\W", "_", "_".join(parts)).strip("_") or "part"
                # Other things that the name could be imported as must not be hidden by it.
                if len(parts) == 1 and (_is_installed(file.module) or is_standard(title) or title in _ALWAYS):
                    title = f"{title}_module"
                name, count = title, 1
                while name in taken or not name.isidentifier() or keyword.iskeyword(name):
                    count += 1
                    name = f"{title}_{count}"
                taken.add(name)
                file.title = name
        return [first, *(file for file in self.files if file is not first)]


def _is_installed(module: str) -> bool:
    file = str(getattr(sys.modules.get(module), "__file__", None) or "")
    return "site-packages" in file or "dist-packages" in file
