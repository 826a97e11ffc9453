//! Idioms of loops and branches: hints, bounds, several conditions, names that are bound in an expression.

use super::Gives::One;
use super::Idiom;
use super::Takes::{Any, Int};

pub(super) const IDIOMS: &[Idiom] = &[
    Idiom::new(
        "staged-loop",
        Any,
        One,
        "",
        &[
            "{r} = {x}\nfor {j} in tl.range(0, {n}, num_stages={c}):\n    {r} = {r} {+} {y}",
            "{r} = {x}\nfor {j} in tl.range({n}):\n    {r} = {r} {+} {y}",
            "{r} = {x}\nfor {j} in tl.range(0, {n} * 2, 2, num_stages=None):\n    {r} = {y} {+} {r}",
        ],
    ),
    Idiom::new(
        "unrolled-loop",
        Any,
        One,
        "",
        &["{r} = {x}\nfor {j} in tl.range(0, {n}, loop_unroll_factor={c}):\n    {r} = {r} {+} {y}"],
    )
    .with_version(3, 2),
    Idiom::new(
        "flattened-loop",
        Any,
        One,
        "",
        &[
            "{r} = {x}\nfor {j} in tl.range(0, {n}, flatten=True):\n    for {t} in range({m}):\n        {r} = {r} {+} {y}",
            "{r} = {x}\nfor {j} in tl.range({n}, disallow_acc_multi_buffer=True):\n    {r} = {r} {+} {y}",
        ],
    )
    .with_version(3, 4),
    Idiom::new(
        "specialised-loop",
        Any,
        One,
        "",
        &["{r} = {x}\nfor {j} in tl.range(0, {n}, warp_specialize=False):\n    {r} = {r} {+} {y}"],
    )
    .with_version(3, 4)
    .with_weight(2),
    Idiom::new(
        "loop-that-keeps-its-loads",
        Any,
        One,
        "",
        &["{r} = {x}\nfor {j} in tl.range(0, {n}, disable_licm=True):\n    {r} = {r} {+} {y}"],
    )
    .with_version(3, 5)
    .with_weight(2),
    Idiom::new(
        "while-of-two-conditions",
        Any,
        One,
        "",
        &[
            "{r} = {x}\n{j} = 0\nwhile ({j} < {n}) & ({j} < {m}):\n    {r} = {r} {+} {y}\n    {j} += 1",
            "{r} = {x}\n{j} = {n}\nwhile {j} > 0:\n    {r} = {y} {+} {r}\n    {j} -= 2",
            "{r} = {x}\n{j} = 0\nwhile {j} < {n} and {j} < {m}:\n    {r} = {r} {+} {y}\n    {j} += 1",
        ],
    ),
    Idiom::new(
        "loops-in-loops",
        Int,
        One,
        "",
        &[
            "{r} = {x}\nfor {j} in range({n}):\n    for {t} in range({j}, {m}):\n        if ({j} + {t}) % 2 == 0:\n            {r} = {r} {+} {y}\n        else:\n            {r} = {r} {*} {x}",
            "{r} = {x}\nfor {j} in tl.static_range({c}):\n    for {t} in tl.static_range({j} + 1):\n        {r} = {r} {+} {t}",
        ],
    ),
    Idiom::new(
        "several-branches",
        Any,
        One,
        "",
        &[
            "if {n} < 1:\n    {r} = {x}\nelif {n} == 2:\n    {r} = {x} {+} {y}\nelif {n} < pid + 4:\n    {r} = {y}\nelse:\n    {r} = {y} {*} {x}",
            "{r} = {x}\nif {cond}:\n    if {test}:\n        {r} = {x} {+} {y}\n    else:\n        {r} = {y}",
        ],
    ),
    Idiom::new(
        "condition-of-one-element",
        Any,
        One,
        "",
        &["{r} = {x}\nif tl.full([1], 0, tl.int32) + {n} > 2:\n    {r} = {y}"],
    )
    .with_version(3, 4)
    .with_weight(2),
    Idiom::new(
        "bound-in-an-expression",
        Any,
        One,
        "",
        &["{r} = ({t} := {x} {+} {y}) {+} {t}"],
    )
    .with_version(3, 8)
    .with_weight(2),
    Idiom::new(
        "name-in-a-branch-not-taken",
        Any,
        One,
        "",
        &["{r} = {x}\nif {k} > 9:\n    {r} = tl.map_elementwise({x}, {x})"],
    )
    .with_version(3, 5)
    .with_weight(1),
    Idiom::new(
        "addresses-in-memory",
        Any,
        One,
        "",
        &["{t} = tl.load({ptrs} + {k} % 2).to(tl.pointer_type({T}))\n{r} = tl.load({t} + {at} * 1) {+} {x}"],
    )
    .with_weight(1),
];
