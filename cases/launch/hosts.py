"""Host functions: ways in which programs launch kernels, other than `kernel[grid](**args)`."""

import os
import subprocess
import sys

import triton
import triton.language as tl


def list_grid(kernel, grid, args):
    kernel[list(grid)](**args)


def grid_of_constexpr(kernel, grid, args):
    """The usual function of a grid: the number of elements is known outside, the block is the kernel's."""
    n = args["n"]
    kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](**args)


def grid_of_scalar(kernel, grid, args):
    kernel[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](**args)


def grid_of_tensor(kernel, grid, args):
    kernel[lambda meta: (triton.cdiv(meta["x"].numel(), meta["BLOCK"]),)](**args)


def launch_handle(kernel, grid, args):
    handle = kernel[grid](**args)
    assert handle is not None, "a launch gives no compiled kernel"


def warmup(kernel, grid, args):
    kernel.warmup(grid=grid, **args)
    kernel[grid](**args)


def warmup_handle(kernel, grid, args):
    handle = kernel.warmup(grid=grid, **args)
    kernel[grid](**args)
    assert handle is not None, "a warmup gives no compiled kernel"


def pre_run_hook(kernel, grid, args):
    called = []
    kernel.add_pre_run_hook(lambda *_, **__: called.append(True))
    kernel[grid](**args)
    assert called == [True], f"the hook was called {len(called)} times"


def language_restored(kernel, grid, args):
    """Not what was there before the launch is asked for, which an earlier launch may have left, but Triton's own."""
    kernel[grid](**args)
    for name in ("range", "static_range", "reduce", "associative_scan"):
        module = getattr(tl, name).__module__
        assert module.startswith("triton.language."), f"tl.{name} is of {module}"


def late_interpret(kernel, grid, args):
    """The launch, and where it is interpreted, one of a program that asks for that once Triton is imported."""
    kernel[grid](**args)
    if os.environ.get("TRITON_INTERPRET") != "1":
        return
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    script = os.path.join(os.path.dirname(__file__), "late_interpret.py")
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, "".join(done.stderr.splitlines()[-1:])
