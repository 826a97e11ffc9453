//! The sizes that are chosen for integers that wrap.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use cerith_prove::Size;
use cerith_prove::overflow::{Freedom, Trial, Wrap, find_wraps};
use cerith_tile::ir::LocId;

use crate::kernels::{cdiv, contract, matrix, name, trace_body};

/// Takes every launch, and notes it.
struct Notes {
    text: String,
}

impl Trial for Notes {
    fn is_wanted(&self, _: LocId) -> bool {
        true
    }

    fn accepts(&self, _: &BTreeMap<String, i64>) -> bool {
        true
    }

    fn replay(&mut self, wrap: &Wrap) -> bool {
        let sizes: Vec<String> = wrap
            .sizes
            .iter()
            .map(|(name, size)| format!("{name}={size}"))
            .collect();
        let _ = writeln!(
            self.text,
            "{}: {} in program {:?} with {}",
            wrap.value,
            wrap.exact,
            wrap.program,
            sizes.join(" ")
        );
        true
    }
}

/// The launches for a kernel of an `x` with `(m - 1) * stride + n` elements, in a grid of `m` programs or of blocks of `n`.
fn list(body: &str, grid: Size) -> String {
    let signature = [
        ("x", "*f32"),
        ("stride", "i32"),
        ("n", "i32"),
        ("m", "i32"),
        ("BLOCK", "64"),
    ];
    let tensors = [("x", matrix("m", "stride", "n"))];
    let contract = contract(&tensors, [Some(grid), None, None], &["n", "m"], &["stride"]);
    let freedom = Freedom {
        start: ["n", "m", "stride"].map(|name| (name.to_owned(), 50)).into(),
        ranges: [
            ("n".to_owned(), (2, 1 << 33)),
            ("m".to_owned(), (2, 1 << 33)),
            ("stride".to_owned(), (2, i64::from(i32::MAX))),
        ]
        .into(),
        strides: BTreeSet::from(["stride".to_owned()]),
        ties: Vec::new(),
    };
    let mut notes = Notes { text: String::new() };
    let traced = trace_body(body, &signature);
    let missed = find_wraps(&traced.function, &contract, &freedom, &mut notes);
    assert_eq!(missed, 0);
    notes.text
}

fn check(body: &str, grid: Size, expected: &str) {
    assert_eq!(list(body, grid), expected, "{body}");
}

#[test]
fn strides_are_large_before_sizes_are() {
    check(
        "    row = tl.program_id(0)\n    i = tl.arange(0, BLOCK)\n    tl.load(x + row * stride + i, mask=i < n)\n",
        name("m"),
        "stride * program_id(0): 2147483648 in program [2, 0, 0] with m=3 n=2 stride=1073741824\n",
    );
    check(
        "    i = tl.arange(0, BLOCK)\n    for row in range(m):\n        tl.load(x + row * stride + i, mask=i < n)\n",
        Size::Number(1),
        "stride * iteration: 2147483648 in program [0, 0, 0] with m=3 n=2 stride=1073741824\n",
    );
}

#[test]
fn programs_are_the_last_ones() {
    let body = "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    tl.load(x + i, mask=i < n)\n";
    check(
        body,
        cdiv("n", 64),
        "program_id(0) * 64 + lane0: 2147483648 in program [33554432, 0, 0] with m=2 n=2147483649 stride=2\n",
    );
    check(&body.replace("(0) *", "(0).to(tl.int64) *"), cdiv("n", 64), "");
}

#[test]
fn bits_and_remainders_are_cut_off() {
    check(
        "    i = tl.program_id(0).to(tl.uint32) * 2654435761\n    at = (i ^ (i >> 7)) % 8\n    tl.load(x + at)\n",
        cdiv("n", 64),
        "",
    );
}
