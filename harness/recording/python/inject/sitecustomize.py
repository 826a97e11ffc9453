"""Begins to record, in a process that `cerith record` started or one that such a process started.

Python imports this file at its start, from the folder that `cerith record` puts in front of PYTHONPATH. A
`sitecustomize` that it hides is imported in its place.
"""

import os
import sys


def _record() -> None:
    folder = os.environ.get("CERITH_RECORD")
    if not folder:
        return
    try:
        from cerith_triton.recorder import Options, Recorder

        options = Options.from_json(os.environ.get("CERITH_RECORD_OPTIONS") or "{}")
        preflight = os.environ.get("CERITH_RECORD_PREFLIGHT")
        Recorder(folder, options, announced=True, preflight=preflight).start()
    except Exception as error:  # noqa: BLE001 (the program goes on without)
        print(f"cerith: this process is not recorded: {type(error).__name__}: {error}", file=sys.stderr)


def _hidden() -> None:
    """Imports the `sitecustomize` that would have been imported, if there is one."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    own = os.path.dirname(os.path.realpath(__file__))
    others = [path for path in sys.path if os.path.realpath(path or os.curdir) != own]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_record()
_hidden()
