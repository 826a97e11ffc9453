"""Looks for what tools that watch interpreted programs replace, as it was up to 3.3, and raises where it is gone."""

import inspect

from triton.runtime.interpreter import GridExecutor, InterpretedFunction, interpreter_builder

PARTS = (GridExecutor, InterpretedFunction)
SPLAT = list(inspect.signature(type(interpreter_builder).create_splat).parameters)

if SPLAT != ["self", "arg", "shape"]:
    raise TypeError(f"create_splat takes {SPLAT}, and a tool that passes on a value and a shape breaks")
