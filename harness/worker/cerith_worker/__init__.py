"""The Python that runs inside a toolchain: it answers one request after the other over a pipe.

Tensors here behave as torch's do wherever Triton's interpreter looks at them, and need neither torch nor a
GPU; on request they are torch's own (`real`). The other side of the pipe is the
Rust crate `cerith-toolchain`; `wire.PROTOCOL` is the protocol's version on both sides.
"""

import os

from . import beside, contained

if os.environ.pop("CERITH_INHERITS", "") == "nothing":
    contained.close_inherited()
contained.keep_writes()
# Printed text goes there. No such file is made after this line.
STDOUT = contained.file_in_memory("stdout")
contained.give_up()

beside.install()

_torch = os.environ.get("CERITH_TORCH")
# On which device torch's own tensors are the arguments; none: stand-ins are.
TORCH = _torch if _torch in ("cpu", "cuda") else None

if _torch == "hidden":
    # This must run before any import of Triton, which may import torch.
    from .hidden import hide

    hide()
