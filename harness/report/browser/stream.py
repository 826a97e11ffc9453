"""Streams to try the page with: one with everything in it, and one of any length."""

import base64
import json
import struct
from collections.abc import Iterator
from typing import Any

Event = dict[str, Any]

VERSIONS = ["3.0.0", "3.1.0", "3.2.0", "3.3.1", "3.4.0", "3.5.1", "3.6.0", "3.7.1", "3.8.0", "3.9.0"]
ENGINES = ["reference", *(f"interpret@{version}" for version in VERSIONS)]
HOSTILE = "</script><script>window.struck=1</script><img src=x onerror=window.struck=1>\u202e\x1b[2J&\"'`\ud83e\udd80"

# Waits for the page to be shown. Playwright's own wait evaluates text, which the page forbids.
SHOWN = """
() => new Promise((done) => {
  const look = () => (window.cerith?.shown ? done() : requestAnimationFrame(look));
  look();
})
"""

KERNEL = '''"""A kernel."""

import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, value * 2, mask=i < n)
'''

BUG: Event = {
    "name": "doubles-are-lost",
    "family": "the interpreter",
    "from": "3.0.0",
    "to": "3.4.0",
    "about": "A doubled value stays unchanged.",
    "origin": "triton#1234",
}


def exhibit(nth: int, *, first: bool) -> Event:
    """The exhibit of a case of `scale_kernel`."""
    dtype = ["f32", "f16", "i32"][nth % 3]
    found: Event = {
        "about": "Sixteen numbers are doubled.",
        "file": "cases/area/scale.yaml",
        "line": 3,
        "origin": "triton#10945",
        "launches": [
            {
                "kernel": "scale_kernel",
                "file": "cases/area/kernels.py",
                "line": 8,
                "grid": [1],
                "args": {"x": "x", "out": "even", "n": "16", "BLOCK": "16"},
                "options": {"num_warps": "4"},
            }
        ],
        "storages": [
            {"name": "x", "bytes": 64, "dtype": dtype, "shape": [16], "fill": "arange"},
            {"name": "y", "bytes": 128, "dtype": "f32", "shape": [4, 8], "fill": "uninit"},
        ],
        "views": [
            {"name": "even", "storage": "y", "dtype": "f32", "shape": [4, 4], "strides": [8, 2]},
        ],
        "uses": ["tensor.__mul__ f32", f"tl.load {dtype}", "tl.arange i32", "tl.store f32"],
    }
    if first:
        found["texts"] = [
            {"file": "cases/area/kernels.py", "text": KERNEL},
            {"file": "cases/area/scale.yaml", "text": "# scale\n\nabout: Sixteen numbers are doubled.\n"},
        ]
    return found


def agreeing(case: str, nth: int) -> Event:
    """A case that all engines agree about."""
    return {
        "event": "verdict",
        "case": case,
        "engines": ENGINES,
        "verdict": "agree",
        "blame": [],
        "expected": True,
        "seconds": {engine: (1 + (nth * 31 + place * 7) % 97) / 1e4 for place, engine in enumerate(ENGINES)},
        "bytes": {"compared": 2560},
        "exhibit": exhibit(nth, first=nth == 0),
    }


def differing(case: str, nth: int, blamed: list[str], *, explained: bool) -> Event:
    """A case in which engines leave other bytes."""
    event = agreeing(case, nth)
    right = struct.pack("<32f", *(float(i) for i in range(32)))
    wrong = struct.pack("<32f", *(-1.5 if i == 2 else float(i) for i in range(32)))
    first = {
        "storage": "y",
        "byte": 8,
        "dtype": "f32",
        "index": 2,
        "tensor": "even",
        "at": [0, 1],
        "values": ["2.0", "-1.5"],
        "bits": ["0x40000000", "0xbfc00000"],
        "accepted": ["1.9999999", "2.0000002"],
    }
    event |= {
        "about": "Sixteen numbers are doubled.",
        "verdict": "differ",
        "blame": blamed,
        "expected": explained,
        "unexpected": [] if explained else blamed,
        "differences": [
            {
                "baseline": "reference",
                "engine": engine,
                "kind": "memory",
                "elements": 1,
                "first": [first],
                **({"explained": [BUG["name"]]} if explained else {}),
            }
            for engine in blamed
        ],
    }
    event["exhibit"] |= {
        "marks": [
            {
                "file": "cases/area/kernels.py",
                "line": 11,
                **({"bugs": [BUG["name"]]} if explained else {}),
                "writes": ["y"],
            }
        ],
        "differs": [
            {"baseline": "reference", "engine": engine, "storage": "y", "spans": [[8, 12]]}
            for engine in blamed
        ],
        "memory": [
            {
                "storage": "y",
                "of": 128,
                "left": [
                    {
                        "engines": [engine for engine in ENGINES if engine not in blamed],
                        "bytes": base64.b64encode(right).decode(),
                    },
                    {"engines": blamed, "bytes": base64.b64encode(wrong).decode()},
                ],
            }
        ],
    }
    if explained:
        event["exhibit"]["known"] = [BUG]
    return event


def rejected(case: str, nth: int, engine: str) -> Event:
    """A case that one engine rejects."""
    event = agreeing(case, nth)
    return event | {
        "verdict": "differ",
        "blame": [engine],
        "expected": False,
        "unexpected": [engine],
        "outcomes": {
            engine: {
                "outcome": "rejected",
                "error": "CompilationError",
                "message": f"at {nth}:4: cannot multiply `value`",
                "position": {
                    "file": "cases/area/kernels.py",
                    "line": 11,
                    "column": 23,
                    "text": "    tl.store(out + i, value * 2, mask=i < n)",
                },
            }
        },
        "differences": [{"baseline": "reference", "engine": engine, "kind": "acceptance"}],
    }


def hostile(nth: int) -> Event:
    """A case all of whose words want to be something else."""
    event = rejected(f"hostile/{HOSTILE}", nth, ENGINES[-1])
    event["about"] = event["exhibit"]["about"] = HOSTILE
    event["notes"] = [HOSTILE]
    event["outcomes"][ENGINES[-1]] |= {"message": HOSTILE, "detail": HOSTILE, "printed": [HOSTILE]}
    event["exhibit"] |= {
        "texts": [{"file": HOSTILE, "text": HOSTILE}],
        "marks": [{"file": HOSTILE, "line": 1, "writes": [HOSTILE]}],
        "storages": [{"name": HOSTILE, "bytes": 16, "dtype": "f32", "shape": [4], "fill": HOSTILE}],
    }
    event["expectations"] = [
        {"engines": [HOSTILE], "versions": HOSTILE, "why": HOSTILE, "link": HOSTILE, "state": "met"}
    ]
    return event


def sweep() -> Event:
    """A sweep with two camps."""
    return {
        "event": "sweep",
        "case": "swept/camps",
        "engines": ["as-is", "num_warps=1", "num_stages=1"],
        "verdict": "differ",
        "blame": [],
        "expected": False,
        "unexpected": ["num_stages"],
        "differences": [{"baseline": "as-is", "engine": "num_stages=1", "kind": "memory", "elements": 2}],
        "sweep": {
            "engine": "cuda@3.9.0",
            "odd": ["num_stages=1"],
            "camps": [
                {"variants": ["as-is", "num_warps=1"], "reference": True},
                {"variants": ["num_stages=1"], "reference": False},
            ],
            "axes": {"num_warps": "agree", "num_stages": "differ"},
        },
    }


def events(cases: int) -> Iterator[Event]:
    """A run of so many cases of ten versions: some are fixed in 3.4, some break in 3.8, one is hostile."""
    yield {
        "event": "start",
        "format": 4,
        "cerith": "0.1.0",
        "engines": ENGINES,
        "cases": cases,
        "corpus": "my cases",
    }
    for nth in range(cases - 2):
        case = f"area{nth % 12}/scale_{nth % 400}:dtype={['f32', 'f16', 'i32'][nth % 3]},n={nth}"
        if nth % 9 == 1:
            yield differing(case, nth, ENGINES[1:5], explained=True)
        elif nth % 50 == 2:
            yield differing(case, nth, ENGINES[9:], explained=False)
        elif nth % 50 == 3:
            yield rejected(case, nth, ENGINES[3])
        else:
            yield agreeing(case, nth)
    yield hostile(cases)
    yield sweep()


def write(path: str, cases: int) -> None:
    """Writes the stream. It has no summary, so that its page says that it is cut short."""
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(event) + "\n" for event in events(cases))
