"""Definitions read from the modules that TorchInductor writes. Needs no torch and no Triton."""

from __future__ import annotations

import unittest

from cerith_worker.emitted import find_undefined, to_plain_triton

KERNEL = """
import triton
import triton.language as tl
from triton.compiler.compiler import AttrsDescriptor

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.hints import DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.user_autotune(
    configs=[],
    triton_meta={'device': DeviceProperties(), 'constants': CONSTANTS, 'configs': [AttrsDescriptor()]},
    filename=__file__,
)
@triton.jit
def scale(x, n, K: tl.constexpr, BLOCK: tl.constexpr):
    double(x)

@triton.jit
def double(x): return x * FACTOR
FACTOR = tl.constexpr(2)
"""

WRAPPER = """
from torch._inductor.async_compile import AsyncCompile
async_compile = AsyncCompile()

scale_0 = async_compile.triton('scale', '''KERNEL''', device_str='cpu')

del async_compile

def call(args):
    def grid(meta):
        return (s0, len(args), __name__)
    s0 = args
    scale_0.run(grid=grid)
"""


def wrapper(constants: str = "{2: 4, 3: 16}") -> str:
    return WRAPPER.replace("KERNEL", KERNEL.replace("CONSTANTS", constants))


class NamesThatNothingDefines(unittest.TestCase):
    def check(self, text: str, expected: list[tuple[int, str, str | None, str | None]]) -> None:
        found = find_undefined(text)
        self.assertEqual([(one.line, one.symbol, one.parameter, one.kernel) for one in found], expected)
        for one in found:
            self.assertIn(one.symbol, one.text)
            self.assertLessEqual(len(one.text), 200)
            self.assertIn(one.text, text.splitlines()[one.line - 1])

    def test_a_whole_module_has_none(self) -> None:
        self.check(wrapper(), [])

    def test_constants_by_position_name_and_tuple_name_the_parameter(self) -> None:
        self.check(wrapper("{2: s2, 3: 16}"), [(16, "s2", "K", "scale")])
        self.check(wrapper("{'K': 4, 'BLOCK': s7}"), [(16, "s7", "BLOCK", "scale")])
        self.check(wrapper("{(2,): s2 * s1}"), [(16, "s1", "K", "scale"), (16, "s2", "K", "scale")])
        self.check(wrapper("{17: s2}"), [(16, "s2", None, "scale")])

    def test_the_wrapper_and_functions_inside_of_functions(self) -> None:
        self.check(wrapper().replace("return (s0,", "return (s1,"), [(32, "s1", None, None)])
        self.check("def f(x):\n    class A:\n        y = [x + z for x in x]\n", [(3, "z", None, None)])

    def test_a_function_s_own_name_is_not_the_module_s(self) -> None:
        text = wrapper() + "def other():\n    return s0\n"
        line = len(text.splitlines())
        self.check(text, [(line, "s0", None, None)])

    def test_what_only_measures_the_module_is_left_out(self) -> None:
        self.check(
            wrapper() + "def get_args():\n    return s0\n\ndef benchmark_compiled_module():\n    s1\n", []
        )
        line = len(wrapper().splitlines()) + 3
        self.check(wrapper() + "def get_args():\n    return s0\ns0\n", [(line, "s0", None, None)])

    def test_what_a_function_makes_global_is_defined(self) -> None:
        self.check("def f():\n    global y\n    y = 1\ny\n", [])

    def test_what_the_kernel_needs_and_was_not_written(self) -> None:
        text = wrapper().replace("FACTOR = tl.constexpr(2)\n", "")
        self.check(text, [(24, "FACTOR", None, "scale")])

    def test_of_a_long_line_the_part_with_the_name_is_shown(self) -> None:
        self.check("a = [" + "0, " * 200 + "s1" + ", 0" * 200 + "]\n", [(1, "s1", None, None)])


class PlainTriton(unittest.TestCase):
    def test_torch_is_taken_off(self) -> None:
        self.assertEqual(
            to_plain_triton(KERNEL.replace("CONSTANTS", "{2: 4}")),
            "import triton\n"
            "import triton.language as tl\n"
            "\n\n"
            "@triton.jit\n"
            "def scale(x, n, K: tl.constexpr, BLOCK: tl.constexpr):\n"
            "    double(x)\n"
            "\n"
            "@triton.jit\n"
            "def double(x): return x * FACTOR\n"
            "FACTOR = tl.constexpr(2)\n",
        )


if __name__ == "__main__":
    unittest.main()
