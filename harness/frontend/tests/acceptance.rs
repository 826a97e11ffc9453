//! Which programs the language accepts, held against Triton 3.9.0's own compiler.
//!
//! `golden/programs_3.9.0.txt` holds bodies of a kernel `k(p, n, C: tl.constexpr)`, written after the text of
//! `golden/programs.py`, and what compiling each for an H100 gave with `p` an `i32` tensor, `n` 5 and `C` 3
//! (`golden/programs_verdicts.py` writes it). The rows of [`DEVIATIONS`] are where the reference knowingly says something else.

mod common;

use common::{I32, Program};
use conch_frontend::Arg;

/// Programs that come out otherwise here, what comes out, and why.
const DEVIATIONS: &[(&str, &str, &str)] = &[
    (
        "loop four bounds",
        "rejected",
        "the compiler reads three arguments and ignores a fourth that Python refuses",
    ),
    (
        "loop block of one bound",
        "unsupported",
        "the compiler aborts its process",
    ),
    (
        "tuple eq tensor",
        "unsupported",
        "the compiler takes the truth of a tensor object, not of its lanes",
    ),
    (
        "constexpr mod string",
        "unsupported",
        "formatting is not known here",
    ),
];

/// `accepted`, `rejected` or `unsupported`.
fn outcome(program: &Program) -> String {
    match program.traced() {
        Ok(_) => "accepted".to_owned(),
        Err(refusal) => refusal,
    }
}

#[test]
fn programs_are_accepted_as_by_the_compiler() {
    let preamble = include_str!("golden/programs.py");
    let golden = include_str!("golden/programs_3.9.0.txt");
    let mut wrong = Vec::new();
    let (mut seen, mut deviations) = (0, 0);
    for entry in golden.split("=== ").skip(1) {
        let (name, rest) = entry.split_once('\n').expect("a name's line");
        let (body, verdict) = rest.split_once("--- ").expect("a verdict");
        let body: String = body.lines().map(|line| ["    ", line, "\n"].concat()).collect();
        let program = Program::whole(&format!("{preamble}{body}")).args([I32, Arg::Int(5), Arg::Int(3)]);
        let ours = outcome(&program);
        let theirs = verdict.split(':').next().unwrap_or(verdict).trim();
        let deviation = DEVIATIONS.iter().find(|(deviation, ..)| *deviation == name);
        let expected = deviation.map_or(theirs, |(_, outcome, _)| outcome);
        seen += 1;
        deviations += usize::from(deviation.is_some() && expected != theirs);
        if !ours.starts_with(expected) {
            wrong.push(format!("=== {name}: Triton {verdict}{ours}\n"));
        }
    }
    assert!(seen > 300, "{seen}");
    assert_eq!(deviations, DEVIATIONS.len(), "a deviation that is none");
    assert!(wrong.is_empty(), "{} of {seen}\n{}", wrong.len(), wrong.concat());
}
