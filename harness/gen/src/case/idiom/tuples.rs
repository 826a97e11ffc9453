//! Idioms of tuples, lists and classes: taken apart, carried, indexed, passed on.

use super::Gives::{One, Two};
use super::Idiom;
use super::Takes::{Any, Block, Int};

pub(super) const IDIOMS: &[Idiom] = &[
    Idiom::new(
        "nested-targets",
        Any,
        Two,
        "",
        &["({r}, {t}), {q} = ({x}, 3), {y}", "{t} = (({x}, {y}), 5)\n({q}, {r}), {u} = {t}"],
    )
    .with_version(3, 8),
    Idiom::new(
        "carried-tuple",
        Any,
        One,
        "",
        &[
            "{t} = ({x}, {y})\nfor {j} in range({n}):\n    {t} = ({t}[1], {t}[0] {+} {t}[1])\n{r} = {t}[0]",
            "{t} = ({x}, {y})\n{j} = 0\nwhile {j} < {n}:\n    {t} = ({t}[1] {+} {t}[0], {t}[0])\n    {j} += 1\n{r} = {t}[1]",
        ],
    )
    .with_version(3, 3),
    Idiom::new(
        "carried-names",
        Any,
        Two,
        "",
        &[
            "{r}, {q} = {x}, {y}\nfor {j} in range({n}):\n    {r}, {q} = {q}, {r} {+} {q}",
            "{r} = {x}\n{q} = {y}\nfor {j} in range({n}):\n    {t} = {r}\n    {r} = {q} {+} {t}\n    {q} = {t}",
        ],
    ),
    Idiom::new(
        "indexed-tuple",
        Any,
        One,
        "",
        &[
            "{t} = ({x}, {y})\n{r} = {t}[1] {+} {t}[0]",
            "{t} = ({x}, {y}, {x})\n{r} = {t}[-1] {+} {t}[1]",
            "{t} = ({x},) * 3\n{r} = {t}[-1] {+} {t}[2]",
            "{t} = ({x}, {y})\n{r} = {x}\nfor {j} in tl.static_range(len({t})):\n    {r} = {r} {+} {t}[{j}]",
            "{t} = [{x}, {y}]\n{r} = {t}[1] {+} {t}[0]",
        ],
    )
    .with_version(3, 3),
    Idiom::new(
        "tuple-of-two",
        Any,
        One,
        "",
        &["{t} = ({x}, {y})\n{u}, {w} = {t}\n{r} = {w} {+} {u}"],
    )
    .with_version(3, 3),
    Idiom::new(
        "tuple-passed-on",
        Any,
        One,
        "@triton.jit
def {f}(pair, n):
    return pair[1] {+} pair[0]",
        &["{t} = ({x}, {y})\n{r} = {f}({t}, {n})", "{r} = {f}(({x}, {y}), {n})"],
    )
    .with_version(3, 3),
    Idiom::new(
        "tuple-parameter",
        Int,
        One,
        "",
        &["{r} = ({x} + {pair}[0] * {pair}[1]).to({T})", "{t}, {u} = {pair}\n{r} = ({x} * {t} - {u}).to({T})"],
    )
    .with_version(3, 3),
    Idiom::new(
        "surplus-value",
        Any,
        Two,
        "",
        &["{r}, {q} = ({x}, {y}, {x})", "{q}, {r} = {x}, {y}, 7"],
    )
    .removed_in(3, 9)
    .with_weight(1),
    Idiom::new(
        "aggregate",
        Block,
        Two,
        "@triton.aggregate
class {g}:
    low: tl.tensor
    high: tl.tensor
    scale: tl.constexpr = {c}

    @triton.jit
    def times(self, other):
        return {g}(self.low {+} other.low, self.high {*} other.low)

    @triton.jit
    def total(self):
        return self.low * self.scale {+} self.high",
        &[
            "{t} = {g}({x}, {y})\nfor {j} in range({n}):\n    {t} = {t}.times({t})\n{r} = {t}.low\n{q} = {t}.total()",
            "{t} = {g}({x}, {y})\n{u} = tl.aggregate_replace({t}, low={t}.high)\n{r} = {u}.low\n{q} = {u}.high",
        ],
    )
    .with_version(3, 8)
    .with_weight(2),
];
