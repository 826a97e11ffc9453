//! Idioms of functions: defaults, keywords, early returns, functions as arguments, closures, constants of the module.

use super::Gives::{One, Reduced, Two};
use super::Idiom;
use super::Takes::{Any, Block, Number};

pub(super) const IDIOMS: &[Idiom] = &[
    Idiom::new(
        "defaults",
        Any,
        One,
        "@triton.jit
def {f}(a, b, SCALE: tl.constexpr = {c}, shift={d}):
    return (a {+} b * SCALE + shift).to(a.dtype)",
        &[
            "{r} = {f}({x}, {y})",
            "{r} = {f}({x}, {y}, {k})",
            "{r} = {f}({x}, {y}, shift={n})",
            "{r} = {f}(b={y}, a={x}, SCALE={k})",
            "{r} = {f}({x}, shift=3, b={y})",
        ],
    ),
    Idiom::new(
        "decided-by-a-constant",
        Any,
        One,
        "@triton.jit
def {f}(a, b, MODE: tl.constexpr):
    if MODE == 0:
        return a {+} b
    elif MODE <= 2:
        return b {*} a
    return a",
        &["{r} = {f}({x}, {y}, {k})", "{r} = {f}({x}, {y}, MODE={c} - 1)"],
    ),
    Idiom::new(
        "early-return",
        Any,
        One,
        "@triton.jit
def {f}(a, b, n):
    if n > 2:
        return a {+} b
    else:
        return b",
        &["{r} = {f}({x}, {y}, {n})", "{r} = {f}({x}, {y}, pid + 2)"],
    ),
    Idiom::new(
        "not-inlined",
        Number,
        One,
        "@triton.jit(noinline=True)
def {f}(a, b):
    return a {+} b",
        &["{r} = {f}({x}, {y})"],
    ),
    Idiom::new(
        "several-results",
        Any,
        Two,
        "@triton.jit
def {f}(a, b):
    t = a {+} b
    return t, t {*} a",
        &["{r}, {q} = {f}({x}, {y})", "({q}, {r}) = {f}(b={x}, a={y})"],
    ),
    Idiom::new(
        "function-of-a-function",
        Any,
        One,
        "@triton.jit
def {f}(a, b):
    return a {+} b


@triton.jit
def {g}(function: tl.constexpr, a, b):
    return function(function(a, b), b)",
        &[
            "{r} = {g}({f}, {x}, {y})",
            "{r} = {g}(b={x}, a={y}, function={f})",
        ],
    ),
    Idiom::new(
        "function-parameter",
        Any,
        One,
        "@triton.jit
def {f}(a, b):
    return a {+} b",
        &["{r} = {F}({x}, {y})"],
    )
    .with_version(3, 3),
    Idiom::new(
        "closure",
        Any,
        One,
        "def {g}():
    SCALE = tl.constexpr({c})

    @triton.jit
    def scaled(a, b):
        return a {+} b * SCALE

    return scaled


{f} = {g}()",
        &["{r} = {f}({x}, {y})"],
    )
    .with_version(3, 4),
    Idiom::new(
        "any-number-of-arguments",
        Any,
        One,
        "@triton.jit
def {f}(first, *rest):
    total = first
    for i in tl.static_range(len(rest)):
        total = total {+} rest[i]
    return total",
        &[
            "{r} = {f}({x}, {y}, {z})",
            "{r} = {f}({x})",
            "{t} = ({x}, {y})\n{r} = {f}(*{t})",
        ],
    )
    .with_version(3, 8),
    Idiom::new(
        "arguments-by-name-alone",
        Any,
        One,
        "@triton.jit
def {f}(a, *, scale: tl.constexpr = 2, b):
    return a {+} b * scale",
        &["{r} = {f}({x}, b={y})", "{r} = {f}({x}, b={y}, scale={k})"],
    )
    .with_version(3, 9),
    Idiom::new(
        "constant-of-the-module",
        Any,
        One,
        "{G} = tl.constexpr({c})",
        &[
            "{r} = {x} {+} {G}",
            "{t} = {G}\n{r} = ({x} * {t}).to({T})",
            "{t} = {G}\n{r} = {x} + {t}.to({T})",
            "{t} = {G}\n{r} = {x} + ({t} * 2).to({T})",
        ],
    ),
    Idiom::new(
        "annotated-constant-of-the-module",
        Any,
        One,
        "{G}: tl.constexpr = {c}",
        &["{r} = {x} {+} {G}"],
    )
    .removed_in(3, 3),
    Idiom::new(
        "function-of-constants",
        Any,
        One,
        "@triton.constexpr_function
def {f}(n):
    return 2 * n + 1",
        &[
            "{r} = {x} {+} {f}({c})",
            "{t}: tl.constexpr = {f}({k})\n{r} = {x} {+} {t}",
        ],
    )
    .with_version(3, 5),
    Idiom::new(
        "reduction-as-a-method",
        Block,
        Reduced,
        "@triton.jit
def {f}(a, b):
    return tl.maximum(a, b).to(a.dtype)",
        &["{r} = {x}.reduce(0, {f})"],
    )
    .with_weight(2),
];
