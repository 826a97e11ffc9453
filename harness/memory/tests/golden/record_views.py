"""Writes torch_views_more.jsonl: what the torch of this machine makes of random view expressions.

`python record_views.py > torch_views_more.jsonl`. The lines read like those of torch_views.jsonl, over the methods and
arguments that it leaves out; a line of an error is an expression of which only the last operation raised.
"""

import json
import random
import warnings

import torch

LINES = 4000
DTYPES = ["bool", "int8", "float16", "float32", "int64", "uint16", "float8_e5m2"]
VIEWED = DTYPES + ["uint32", "uint64", "int16", "bfloat16", "float64"]

rng = random.Random(11)


def number():
    return rng.choice([-3, -2, -1, -1, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 6, 7])


def dim():
    return rng.choice([-3, -2, -1, 0, 0, 1, 1, 2])


def numbers(count):
    return [number() for _ in range(count)]


def dims(count):
    return rng.sample([-1, -2, -3, 0, 1, 2], count)


def index():
    def bound():
        return rng.choice(["", number(), rng.choice([-(2**40), 2**40])])

    return rng.choice(
        [lambda: str(number()), lambda: f"{bound()}:{bound()}", lambda: f"{bound()}:{bound()}:{number()}"]
        + [lambda: "None", lambda: "..."]
    )()


OPERATIONS = [
    lambda: f"movedim({dims(2)}, {dims(2)})",
    lambda: f"movedim({dim()}, {dim()})",
    lambda: f"unflatten({dim()}, {numbers(rng.randint(1, 3))})",
    lambda: f"repeat({tuple(rng.choice([0, 1, 1, 2, 3, -1]) for _ in range(rng.randint(0, 4)))})",
    lambda: f"tensor_split({number()}, dim={dim()})[0]",
    lambda: f"tensor_split({numbers(2)}, dim={dim()})[{rng.randint(0, 2)}]",
    lambda: f"unbind({dim()})[0]",
    lambda: f"squeeze({tuple(dims(rng.randint(1, 3)))})",
    lambda: f"narrow({dim()}, {number()}, {number()})",
    lambda: f"expand({tuple(numbers(rng.randint(0, 4)))})",
    lambda: f"expand({tuple(rng.choice([-1, -1, 2]) for _ in range(rng.randint(1, 4)))})",
    lambda: f"flatten({dim()}, {dim()})",
    lambda: "ravel()",
    lambda: "clone()",
    lambda: "contiguous()",
    lambda: f"split({number()}, {dim()})[0]",
    lambda: f"split({numbers(2)}, {dim()})[0]",
    lambda: f"chunk({number()}, {dim()})[0]",
    lambda: f"diagonal({number()}, {dim()}, {dim()})",
    lambda: f"permute({tuple(dims(rng.randint(0, 3)))})",
    lambda: f"as_strided({numbers(2)}, {numbers(2)}, {number()})",
    lambda: f"select({dim()}, {number()})",
    lambda: f"unfold({dim()}, {number()}, {number()})",
    lambda: rng.choice(["T", "mT", "H", "mH", "t()", "adjoint()", "fliplr()", "flipud()"]),
    lambda: f"flip({tuple(dim() for _ in range(rng.randint(1, 2)))})",
    lambda: f"view({tuple(numbers(2))})",
    lambda: f"reshape({tuple(numbers(rng.randint(0, 3)))})",
    lambda: f"view(torch.{rng.choice(VIEWED)})",
    lambda: f"unsqueeze({dim()})",
    lambda: f"swapaxes({dim()}, {dim()})",
    lambda: f"[{', '.join(index() for _ in range(rng.randint(1, 3)))}]",
]


def usable(x):
    # torch lets a negative size pass next to an empty one. That is no tensor to us.
    return min(x.shape, default=0) >= 0 and x.numel() <= 1 << 16 and x.untyped_storage().nbytes() <= 1 << 16


def line():
    shape = [rng.choice([0, 1, 1, 2, 3, 4, 5]) for _ in range(rng.randint(0, 4))]
    dtype = rng.choice(DTYPES)
    base = torch.zeros(shape, dtype=getattr(torch, dtype))
    text, x = "base", base
    out = {"base": {"dtype": dtype, "shape": shape}}
    for _ in range(rng.randint(1, 4)):
        for _ in range(20):
            operation = rng.choice(OPERATIONS)()
            step = operation if operation[0] == "[" else "." + operation
            try:
                made = eval(f"x{step}")
            except Exception as error:
                # The other half of the lines is about what works.
                if rng.random() < 0.05:
                    # Some messages go on with frames of C++.
                    message = str(error).split("\nException raised")[0]
                    return out | {"expr": text + step, "error": message, "kind": type(error).__name__}
                continue
            if usable(made):
                text, x = text + step, made
                break
    return out | {
        "expr": text,
        "dtype": str(x.dtype).removeprefix("torch."),
        "shape": list(x.shape),
        "strides": list(x.stride()),
        "offset": x.storage_offset(),
        "contiguous": x.is_contiguous(),
        "same_storage": x.untyped_storage()._cdata == base.untyped_storage()._cdata,
        "storage_bytes": x.untyped_storage().nbytes(),
    }


warnings.simplefilter("ignore")
for _ in range(LINES):
    print(json.dumps(line()))
