//! Idioms of numbers: Python's beside tensors, constants, arguments of every kind, operators of Python's.

use cerith_tile::DType;

use super::Gives::{Nothing, One, Scalar as Gave};
use super::Idiom;
use super::Takes::{Any, Block, Float, Int, Number, Scalar};

pub(super) const IDIOMS: &[Idiom] = &[
    Idiom::new(
        "float-of-the-launch",
        Float,
        One,
        "",
        &[
            "{r} = {x} {+} {fl}.to({T})",
            "{t} = tl.full({fl}.shape, 2.0, {fl}.dtype)\n{r} = {x} {+} {t}.to({T})",
            "{r} = ({x} {+} {fl}).to({T})",
        ],
    ),
    Idiom::new(
        "number-in-a-name",
        Any,
        One,
        "",
        &[
            "{t} = 0.5\n{r} = {x} + {t}.to({T})",
            "{t} = {c}\n{r} = {x} {+} {t}.to({T})",
            "{t}, {u} = {c}, {d}\n{r} = {x} {+} ({t} + {u}).to({T})",
            "{t} = {k}\n{u} = {c}\n{r} = {x} {+} ({t} + {u}).to({T})",
            "{t} = 0.5\n{r} = {x} {+} tl.full({t}.shape, 2.0, {t}.dtype).to({T})",
        ],
    ),
    Idiom::new(
        "index-of-a-loop",
        Int,
        One,
        "",
        &[
            "{r} = {x}\nfor {j} in range({c}):\n    {r} = {r} {+} {j}.to({T})",
            "{r} = {x}\nfor {j} in range(-{c}, {d}):\n    {r} = ({r} + {j}).to({T})",
            "{r} = {x}\nfor {j} in range({n} - 3, {d}):\n    {r} = ({r} {+} ({j} // 2)).to({T})",
            "{r} = {x}\nfor {j} in range({n}, -{c}, -2):\n    {r} = ({r} + {j} % 3).to({T})",
        ],
    ),
    Idiom::new(
        "argument-beside-a-block",
        Int,
        One,
        "",
        &[
            "{r} = (({x} + {n}) >> 1).to({T})",
            "{r} = tl.maximum({x} - {n}, {m}).to({T})",
            "{r} = tl.where({x} + {n} > {x}, {x}, {y})",
        ],
    ),
    Idiom::new(
        "wide-argument",
        Any,
        Gave(DType::I64),
        "",
        &[
            "{r} = {wide} + {wide}",
            "{r} = {wide} * ({n} + 1)",
            "{r} = tl.full([], 1, tl.int64) + {wide}",
            "{r} = ({wide} + pid) * 3",
        ],
    ),
    Idiom::new(
        "stored-argument",
        Any,
        Gave(DType::I64),
        "",
        &["{r} = {wide} + 0", "{r} = {wide}.to(tl.int64)"],
    )
    .with_weight(2),
    Idiom::new(
        "bool-argument",
        Any,
        Gave(DType::I1),
        "",
        &[
            "{r} = {flag} + {flag}",
            "{r} = {flag} & (pid == 0)",
            "{r} = ({flag} != 0) | (pid > 5)",
        ],
    ),
    Idiom::new(
        "decided-by-a-bool",
        Any,
        One,
        "",
        &[
            "{r} = {x}\nif {flag}:\n    {r} = {x} {+} {y}",
            "{r} = tl.where({flag}, {x}, {y})",
            "{r} = {x} {+} {flag}.to({T})",
            "{r} = {x} if {flag} else {y}",
        ],
    ),
    Idiom::new(
        "none",
        Any,
        One,
        "",
        &[
            "{r} = {x}\nif {none} is not None:\n    {r} = tl.load({none})",
            "if {none} is None:\n    {r} = {x} {+} {y}\nelse:\n    {r} = {x}",
        ],
    )
    .with_weight(2),
    Idiom::new(
        "chained-comparison",
        Any,
        One,
        "",
        &[
            "{r} = tl.where(1 < {x} < 6, {x}, {y})",
            "{r} = tl.where({c} <= {x} {<} {d}, {y}, {x})",
            "{r} = {x}\nif 0 < {n} <= {m}:\n    {r} = {x} {+} {y}",
        ],
    )
    .with_version(3, 9),
    Idiom::new(
        "words-of-logic",
        Any,
        One,
        "",
        &[
            "{r} = {x}\nif ({cond}) and ({test}):\n    {r} = {x} {+} {y}",
            "{r} = {x}\nif ({cond}) or ({test}):\n    {r} = {y}",
            "{r} = {x}\nif not ({cond}):\n    {r} = {x} {+} {y}\nelif {test}:\n    {r} = {y}",
        ],
    ),
    Idiom::new(
        "integers-in-words-of-logic",
        Any,
        One,
        "",
        &[
            "{r} = {x}\nif {n} and 3:\n    {r} = {y}",
            "{r} = {x}\nif {n} or 0:\n    {r} = {x} {+} {y}",
            "{r} = {x}\nif {k} and {n}:\n    {r} = {y}",
        ],
    )
    .with_version(3, 4),
    Idiom::new(
        "ternary",
        Any,
        One,
        "",
        &[
            "{r} = {x} if {cond} else {y}",
            "{r} = {x} {+} ({y} if {cond} else {z})",
            "{r} = {y} if {k} > 2 else {x}",
            "{t} = {c} if {k} == 1 else {d}\n{r} = ({x} {+} {t}).to({T})",
        ],
    ),
    Idiom::new(
        "number-as-a-condition",
        Scalar,
        One,
        "",
        &[
            "{r} = {x}\nif {x} != 0:\n    {r} = {x} {+} {y}",
            "{r} = {x}\nif {x} > {l}:\n    {r} = {y}\nelse:\n    {r} = {x} {+} {y}",
            "{r} = {x}\nif {x}:\n    {r} = {y}",
        ],
    ),
    Idiom::new(
        "float-as-a-condition",
        Number,
        One,
        "",
        &[
            "{r} = {x}\nif {x} > 0:\n    {r} = {y}",
            "{r} = {y} if {x} <= 1 else {x}",
        ],
    ),
    Idiom::new(
        "python-extrema",
        Int,
        One,
        "",
        &["{r} = max({x}, {y})", "{r} = min({x}, {y})"],
    ),
    Idiom::new(
        "not-of-a-block",
        Block,
        One,
        "",
        &["{t} = not ({x} {<} {l})\n{r} = tl.where({t}, {x}, {y})"],
    ),
    Idiom::new(
        "words-between-blocks",
        Block,
        One,
        "",
        &[
            "{r} = tl.where(({x} {<} {l}) and ({y} > {l}), {x}, {y})",
            "{r} = tl.where(({x} {<} {l}) or ({y} > {l}), {x}, {y})",
        ],
    ),
    Idiom::new(
        "augmented",
        Any,
        One,
        "",
        &[
            "{r} = {x}\n{r} += {y}",
            "{r} = {x}\n{r} *= {y}\n{r} -= {l}",
            "{r} = {x}\n{r} -= {y} + {x}",
        ],
    ),
    Idiom::new(
        "what-is-known-of-it",
        Any,
        One,
        "",
        &[
            "{r} = tl.full({x}.shape, {c}, {x}.dtype) {+} {x}",
            "{r} = tl.zeros({x}.shape, {x}.dtype) {+} {x}",
            "{r} = tl.zeros_like({x}) {+} {y}",
            "{t}: tl.constexpr = {x}.dtype\n{r} = ({x} {+} {y}).to({t})",
        ],
    ),
    Idiom::new(
        "extent",
        Block,
        One,
        "",
        &[
            "{t}: tl.constexpr = {x}.shape[0]\n{r} = {x} {+} ({t} % 5)",
            "{r} = {x} {+} (len({x}.shape) + 1)",
            "{r} = {x}\nif {x}.shape[0] > 4:\n    {r} = {x} {+} {y}",
            "tl.static_assert({x}.dtype == {T})\n{r} = {x} {+} {y}",
        ],
    ),
    Idiom::new(
        "arithmetic-of-constants",
        Any,
        One,
        "",
        &[
            "{t}: tl.constexpr = {k} * 2 + 1\n{r} = {x} {+} {t}",
            "{t}: tl.constexpr = triton.next_power_of_2({k} + 3)\n{r} = {x} {+} tl.sum(tl.arange(0, {t}), 0).to({T})",
            "{t}: tl.constexpr = triton.cdiv({k} + 9, 4)\n{r} = {x} {+} {t}",
            "{r} = {x} {+} (7 // ({k} + 1)) ",
            "{r} = {x} {+} (1 << {k})",
            "{t} = {k} + 1\n{r} = ({x} {+} {t}).to({T})",
        ],
    ),
    Idiom::new(
        "constant-of-the-run",
        Any,
        One,
        "",
        &[
            "{t}: tl.constexpr = pid\n{r} = {x}\nif {t} > {k}:\n    {r} = {y}",
            "{t}: tl.constexpr = pid + {k}\n{r} = {x} {+} ({t} * 2).to({T})",
            "{t}: tl.constexpr = tl.cdiv({k}, 3) % 101\n{r} = {x}\nif {t} > 50:\n    {r} = {y}",
        ],
    )
    .with_version(3, 8),
    Idiom::new(
        "dtype-of-the-launch",
        Any,
        One,
        "",
        &[
            "{r} = {x} {+} tl.zeros({shape}, {dtype}).to({T})",
            "{r} = {x} {+} tl.full({shape}, 2, {dtype}).to({T})",
            "{r} = {x}\nif {dtype} == tl.float32:\n    {r} = {x} {+} {y}",
        ],
    ),
    Idiom::new(
        "asked-for-an-attribute",
        Any,
        One,
        "",
        &["{r} = {x}\nif hasattr({x}, \"dtype\"):\n    {r} = {x} {+} {y}"],
    )
    .with_version(3, 4)
    .with_weight(2),
    Idiom::new(
        "clamped",
        Float,
        One,
        "",
        &[
            "{r} = tl.clamp({x}, 0.0, 3.0).to({T})",
            "{r} = tl.clamp({x}, -0.0, 1.0).to({T})",
        ],
    ),
    Idiom::new(
        "shifted",
        Int,
        One,
        "",
        &[
            "{r} = (({x} >> 1).to(tl.int32) // 3 + {y}).to({T})",
            "{r} = ({x}.to(tl.int16) >> tl.full({shape}, 1, tl.uint16)).to(tl.int32).to({T})",
            "{r} = ({x}.to(tl.int32) >> tl.full({shape}, 3, tl.uint32)).to(tl.float32).to(tl.int64).to({T})",
        ],
    ),
    Idiom::new(
        "assertion",
        Any,
        Nothing,
        "",
        &[
            "tl.device_assert({x} == {x}, \"equal\")",
            "tl.device_assert({x} {<} {l}, \"small\")",
            "tl.device_assert({n} < 9)",
            "tl.static_assert({k} < 9)",
            "tl.static_assert({k} < 9, \"at most 8\")",
            "tl.static_assert({k} < 9, f\"it is {{{k}}}\")",
        ],
    )
    .with_weight(2),
    Idiom::new(
        "printed",
        Number,
        Nothing,
        "",
        &[
            "tl.device_print(\"value\", {x})",
            "tl.device_print(\"value\", {x}, hex=True)",
            "tl.static_print(\"constant\", {k})",
            "tl.device_print(\"both\", {x}, {n})",
        ],
    )
    .with_weight(2),
    Idiom::new(
        "assumed",
        Any,
        Nothing,
        "",
        &["tl.assume({n} >= 0)", "tl.assume({n} < 9)"],
    )
    .with_version(3, 2)
    .with_weight(1),
];
