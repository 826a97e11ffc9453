"""Asks the installed Triton's compiler about every program of programs_<version>.txt and prints the file anew.

    python programs_verdicts.py programs_3.9.0.txt > programs_<version>.txt

No GPU is needed. Each program is compiled in a process of its own, since the compiler may abort.
"""

import importlib.util
import os
import re
import signal
import sys
import tempfile
import textwrap
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget


class Driver:
    """As much of a driver as compiling for an H100 takes."""

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0


class DType:
    def __str__(self):
        return "torch.int32"


class Tensor:
    dtype = DType()

    def data_ptr(self):
        return 64


def line_of(error, source):
    """The line of the program that the innermost error points at, `?` where it points at none."""
    if isinstance(error, SyntaxError):
        return error.lineno
    line = "?"
    while error is not None:
        text, node = getattr(error, "src", None), getattr(error, "node", None)
        # The text of a method is told without its class's indentation.
        for text in (text, textwrap.indent(text, "    ")) if text and node is not None else ():
            if text in source:
                line = source[: source.index(text)].count("\n") + node.lineno
        error = error.__cause__
    return line


def compile_program(source):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.py")
        path.write_text(source)
        spec = importlib.util.spec_from_file_location("program", path)
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
            module.k.warmup(Tensor(), 5, C=3, grid=(1,))
        except BaseException as error:
            line = line_of(error, source)
            while error.__cause__ is not None:
                error = error.__cause__
            text = re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")
            text = re.sub(r"'/[^']*'", "'…'", text)
            text = re.sub(r"0x[0-9a-f]{6,}", "0x…", text)
            return f"rejected: {line} {text[-140:]}"
        return "accepted"


def verdict(source):
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os.dup2(2, 1)
        os.write(send, compile_program(source).encode())
        os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        text = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    return text or f"rejected: ? compiler crashed (signal {status & 127})"


def main():
    triton.runtime.driver.set_active(Driver())
    preamble = Path(__file__).with_name("programs.py").read_text()
    for entry in Path(sys.argv[1]).read_text().split("=== ")[1:]:
        name, rest = entry.split("\n", 1)
        body = rest.split("--- ")[0]
        print(f"=== {name}\n{body}--- {verdict(preamble + textwrap.indent(body, '    '))}", flush=True)


main()
