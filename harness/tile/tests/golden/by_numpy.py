"""Writes `by_numpy.txt`: what NumPy computes, all numbers as bits in base 16.

Run by hand, on a CPU with AVX2 or AVX-512: `python by_numpy.py`. A line is `function operand -> result` of `f32`, or
`sum dtype inner elements -> results`: elements of an array of `inner` columns, added along the first axis.
"""

import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
FUNCTIONS = {"exp": np.exp, "log": np.log, "rsqrt": lambda x: np.float32(1) / np.sqrt(x)}
WORDS = {"f16": np.uint16, "f32": np.uint32, "f64": np.uint64}
DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def bits(array: np.ndarray, dtype: str) -> str:
    return " ".join(f"{word:x}" for word in np.ascontiguousarray(array).view(WORDS[dtype]).ravel())


def functions(random: np.random.Generator) -> list[str]:
    every = random.integers(0, 2**32, 300, dtype=np.uint32).view(np.float32)
    ends = np.float32(
        [
            0,
            -0.0,
            np.inf,
            -np.inf,
            np.nan,
            1,
            -1,
            88.722836,
            88.72284,
            -87.4,
            -103.97,
            -103.98,
            1.4142135,
            1e-45,
        ]
    )
    near = [(random.standard_normal(200) * scale).astype(np.float32) for scale in (1, 30)]
    lines = []
    with np.errstate(all="ignore"):
        for x in np.concatenate([ends, every, *near]):
            for name, function in FUNCTIONS.items():
                lines.append(f"{name} {bits(x, 'f32')} -> {bits(function(np.array([x])), 'f32')}")
    return lines


def sums(random: np.random.Generator) -> list[str]:
    lines = []
    for dtype, number in DTYPES.items():
        for count in (1, 3, 7, 8, 9, 20, 128, 130, 264, 300):
            for inner in (1, 2):
                if inner > 1 and count > 20:
                    continue
                elements = random.standard_normal((count, inner)).astype(number)
                result = np.sum(elements, axis=0)
                lines.append(f"sum {dtype} {inner} {bits(elements, dtype)} -> {bits(result, dtype)}")
    return lines


def main() -> None:
    random = np.random.default_rng(26)
    lines = [
        f"# Written by by_numpy.py, with NumPy {np.__version__}; see there.",
        *functions(random),
        *sums(random),
    ]
    with open(os.path.join(HERE, "by_numpy.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
