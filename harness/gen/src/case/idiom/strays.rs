//! Python that Triton's compilers reject. Its interpreter runs Python, so it may accept them.

use super::Gives::{Nothing, One};
use super::Idiom;
use super::Takes::{Any, Block};

pub(super) const IDIOMS: &[Idiom] = &[
    Idiom::new("plain-global", Any, One, "{G} = {c}", &["{r} = {x} {+} {G}"]).never(),
    Idiom::new(
        "two-integers-in-words-of-logic",
        Any,
        One,
        "",
        &["{r} = {x}\nif (pid + 3) and {n}:\n    {r} = {y}"],
    )
    .never(),
    Idiom::new(
        "name-of-a-loop",
        Any,
        One,
        "",
        &["for {j} in range({c}):\n    {t} = {x}\n{r} = {t}"],
    )
    .never(),
    Idiom::new(
        "name-of-a-branch",
        Any,
        One,
        "",
        &["if {cond}:\n    {t} = {x}\n{r} = {x}\nif {cond}:\n    {r} = {t}"],
    )
    .never(),
    Idiom::new(
        "branches-of-two-types",
        Any,
        Nothing,
        "",
        &[
            "if {cond}:\n    {t} = 1.5\nelse:\n    {t} = 2",
            "{t} = {c}\nif {cond}:\n    {t} = 2.5",
            "if {cond}:\n    {t} = {x}\nelse:\n    {t} = {x}.to(tl.int1)",
        ],
    )
    .never(),
    Idiom::new(
        "loop-of-two-types",
        Any,
        Nothing,
        "",
        &["{t} = 0\nfor {j} in range({n}):\n    {t} = {t} + 0.5"],
    )
    .never(),
    Idiom::new(
        "block-as-a-condition",
        Block,
        One,
        "",
        &["{r} = {x}\nif tl.arange(0, 4) > {c}:\n    {r} = {y}"],
    )
    .never(),
    Idiom::new(
        "list-that-grows",
        Any,
        One,
        "",
        &["{t} = [{x}]\n{t}.append({y})\n{r} = {t}[1]"],
    )
    .never(),
    Idiom::new(
        "python",
        Any,
        One,
        "",
        &[
            "{r} = {x}\nfor {j} in range({n}):\n    if {j} == 3:\n        break\n    {r} = {r} {+} {y}",
            "try:\n    {r} = {x}\nexcept ValueError:\n    {r} = {y}",
            "{r} = {x}\nfor {j} in range({n}):\n    if {j} == 1:\n        continue\n    {r} = {r} {+} {y}",
            "with {x}:\n    {r} = {y}",
            "{t} = lambda a: a\n{r} = {t}({x})",
        ],
    )
    .never(),
    Idiom::new(
        "function-of-the-host",
        Any,
        One,
        "def {f}(a):\n    return a",
        &["{r} = {f}({x})", "{r} = {x} {+} sorted([{c}, {d}])[0]"],
    )
    .never(),
];
