"""What the drivers share: tensors of a seed, calls with their gradients, and a count of refused calls."""

import collections
import sys
from collections.abc import Callable

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.autotuner import Autotuner

FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def mend_interpreter() -> None:
    """Makes float arguments tensors, as the compiler does; the interpreter leaves them without `.to`."""
    given = interpreter._implicit_cvt

    def convert_argument(argument: object) -> object:
        if isinstance(argument, float):
            number = np.array([argument], dtype=np.float32)
            return tl.tensor(interpreter.TensorHandle(number, tl.float32), tl.float32)
        return given(argument)

    interpreter._implicit_cvt = convert_argument


def choose_first() -> None:
    """Has autotuners take their first configuration. They would ask a GPU how fast each is."""
    given = Autotuner.run

    def run(self: Autotuner, *arguments: object, **options: object) -> object:
        self.configs = self.configs[:1]
        return given(self, *arguments, **options)

    Autotuner.run = run


class Driver:
    """Makes calls of a library. A call that raises is counted with its reason, and the others go on."""

    def __init__(self) -> None:
        mend_interpreter()
        choose_first()
        self.made = 0
        self.refused: collections.Counter[str] = collections.Counter()

    def call(self, name: str, function: Callable[..., object], *given: object) -> None:
        """Makes one call, with numbers that depend on nothing else."""
        torch.manual_seed(len(name))
        try:
            function(*given)
        except Exception as reason:  # noqa: BLE001
            text = str(reason).strip().splitlines() or [""]
            self.refused[f"{name}: {type(reason).__name__}: {text[0][:150]}"] += 1
        else:
            self.made += 1

    def end(self) -> None:
        """Says how many calls were made, and why others were not."""
        print(f"{self.made} calls made, {sum(self.refused.values())} refused", file=sys.stderr)
        for reason, count in self.refused.most_common():
            print(f"  {count} x {reason}", file=sys.stderr)


def make_normal(*shape: int, dtype: torch.dtype = torch.float32, grad: bool = False) -> torch.Tensor:
    """Normally distributed numbers."""
    return torch.randn(shape).to(dtype).requires_grad_(grad)


def make_integers(end: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """Whole numbers from zero to below `end`."""
    return torch.randint(0, end, shape, dtype=dtype)


def run_backward(result: object) -> None:
    """Sends gradients back from all floating-point tensors of a result."""
    results = result if isinstance(result, (tuple, list)) else (result,)
    tensors = [x for x in results if isinstance(x, torch.Tensor) and x.requires_grad]
    if tensors:
        torch.autograd.backward(tensors, [torch.randn(x.shape).to(x.dtype) for x in tensors])
