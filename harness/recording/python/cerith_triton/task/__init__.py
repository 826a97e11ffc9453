"""Tasks of `cerith judge`: inputs for fresh seeds, sizes and kinds of data, and the reference's results.

A task runs in a process of its own, which never has a submission. `kernelbench`, `tritonbench` and `plain`
read the forms. See `serve` for the messages.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any, Protocol

from .. import inputs as kinds
from ..inputs import Data
from . import kernelbench, plain, trial, tritonbench
from .trial import Inputs, Outputs, TaskError, TrialSkipped


class Task(Protocol):
    """A task in one of the forms."""

    form: str
    entry: str
    """The submission's class or function."""
    name: str

    @property
    def contract(self) -> dict[str, Any]:
        """The precision that a submission must have."""

    def make(self, chosen: Data, sizes: int) -> tuple[Inputs, Outputs]:
        """The inputs and outputs of a trial. Raises `TrialSkipped` and `TaskError`."""


def serve(channel: Any, path: str, folder: str = ".") -> None:
    """Sends `{"task": …}`, and a trial for each `{"make": {"kind", "seed", "sizes"}}` until another message.

    Files of a trial lie in `folder`, until the next one. An answer is `{"trial": …}` or
    `{"skipped": reason}`.
    A task that cannot be judged at all is `{"failed": reason}`, instead of either.
    """
    try:
        task = load(Path(path))
    except TaskError as error:
        channel.send({"failed": str(error)})
        return
    about = {"form": task.form, "entry": task.entry, "name": task.name, "contract": task.contract}
    channel.send({"task": about})
    while True:
        message = channel.receive()
        if not message or "make" not in message:
            return
        channel.send(answer(task, message["make"], Path(folder)))


def answer(task: Task, request: Any, folder: Path) -> dict[str, Any]:
    """The answer to a request for a trial."""
    kind = str(request["kind"])
    if kind != kinds.GIVEN and kind not in kinds.KINDS_OF_TASKS:
        return {"skipped": f"there is no data `{kind}`"}
    for old in (*folder.glob("storage-*.bin"), *folder.glob("expected-*.?64")):
        old.unlink()
    try:
        inputs, expected = task.make(Data(kind, int(request["seed"])), int(request["sizes"]))
        return {"trial": trial.write_trial(folder, inputs, expected)}
    except TrialSkipped as skipped:
        return {"skipped": str(skipped)}
    except TaskError as error:
        return {"failed": str(error)}


def load(path: Path) -> Task:
    """The task of a file. Raises `TaskError` if it has none that can be judged."""
    # A reference function never needs a GPU, and its results must not depend on one.
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    try:
        source = path.read_text(encoding="utf-8")
        names = _list_definitions(ast.parse(source, str(path)))
    except (OSError, SyntaxError, ValueError) as error:
        raise TaskError(f"{path.name} cannot be read: {trial.describe_error(error)}") from error
    try:
        if {"Model", "get_inputs"} <= names:
            return kernelbench.ModelTask(path, source)
        if tritonbench.SEPARATOR.search(source):
            return tritonbench.CallTask(path, source)
        if "reference" in names:
            return plain.FunctionTask(path, source)
    except (TaskError, TrialSkipped):
        raise
    except Exception as error:
        raise TaskError(f"{path.name} raised {trial.describe_error(error)}") from error
    raise TaskError(
        f"{path.name} is not a task: it has no `Model` with `get_inputs`, no line of 100 `#` before a test, "
        "and no function `reference`"
    )


def _list_definitions(tree: ast.Module) -> set[str]:
    """The names that a module defines."""
    found: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            found.add(statement.name)
        elif isinstance(statement, ast.Assign):
            found |= {
                one.id
                for target in statement.targets
                for one in ast.walk(target)
                if isinstance(one, ast.Name)
            }
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            found |= {one.asname or one.name for one in statement.names}
    return found
