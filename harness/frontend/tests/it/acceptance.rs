//! Compares the programs that the language accepts with Triton 3.9.0's own compiler.
//!
//! `golden/programs_3.9.0.txt` lists bodies of a kernel `k(p, n, C: tl.constexpr)`, which follow the text of
//! `golden/programs.py`, and the outcome of compiling each for an H100 with `p` an `i32` tensor, `n` 5 and `C` 3: whether
//! the compiler accepts it, and otherwise the line of the error and its reason. `golden/programs_verdicts.py` writes the
//! file. [`DEVIATIONS`] lists the known differences of the reference, [`LINES`] those in the line of the error. The
//! snapshot `reasons` shows the reasons side by side, for a reader to compare.

use std::fmt::Write as _;

use crate::common::{I32, Program};
use cerith_frontend::RequestArg;

/// Programs with a different outcome in the reference, that outcome, and the reason.
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
    (
        "aggregate with init constexpr tensor",
        "unsupported",
        "the compiler takes a tensor object for a constant",
    ),
    (
        "constexpr of a tensor",
        "unsupported",
        "the compiler takes a tensor object for a constant",
    ),
    (
        "aggregate type",
        "unsupported",
        "the type of an aggregate is not known as a value here",
    ),
    (
        "string method",
        "unsupported",
        "methods of strings are not known here",
    ),
    (
        "range outside of a loop",
        "unsupported",
        "a range that a variable holds is not known here",
    ),
    (
        "descriptor scatter",
        "accepted",
        "the H100, for which it is compiled, has no instruction for it; later GPUs have",
    ),
    (
        "cast to fp8e4b8",
        "accepted",
        "GPUs other than NVIDIA's have the dtype",
    ),
    ("slice object", "unsupported", "an object of the compiler's"),
    (
        "builtin min of a tuple",
        "accepted",
        "the compiler takes a tuple that is a constexpr, which is not told apart here",
    ),
    (
        "sum of fp8",
        "rejected",
        "nothing uses it, so that the compiler drops it; its passes have no lowering for it",
    ),
    (
        "map elementwise packed two",
        "accepted",
        "the compiler's passes fail where a thread has fewer elements than a call takes",
    ),
];

/// Programs that the reference rejects at a different line from the compiler, that line, and the reason.
const LINES: &[(&str, usize, &str)] = &[
    (
        "while return",
        295,
        "the compiler points at the kernel, not at the loop with the `return`",
    ),
    (
        "two returns differ",
        53,
        "the compiler points at the function, not at the first `return` that differs",
    ),
    (
        "return in while",
        295,
        "the compiler points at the kernel, not at the loop with the `return`",
    ),
    (
        "noinline of a block",
        295,
        "the compiler counts the call's place in the text of the function that is called",
    ),
];

/// The line of a refusal, and its message.
fn parse_refusal(refusal: &str) -> Option<(usize, &str)> {
    let place = refusal
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("--> k.py:"))?;
    let message = refusal.lines().find_map(|line| line.strip_prefix("error["))?;
    Some((
        place.split(':').next()?.parse().ok()?,
        message.split_once(": ").map_or(message, |(_, message)| message),
    ))
}

/// `accepted`, `rejected` or `unsupported`.
fn describe_outcome(program: &Program) -> String {
    match program.traced() {
        Ok(_) => "accepted".to_owned(),
        Err(refusal) => refusal,
    }
}

#[test]
fn programs_are_accepted_as_by_the_compiler() {
    let preamble = include_str!("../golden/programs.py");
    let golden = include_str!("../golden/programs_3.9.0.txt");
    let (mut wrong, mut elsewhere, mut reasons) = (Vec::new(), Vec::new(), String::new());
    let (mut seen, mut rejected, mut deviations, mut moved) = (0, 0, 0, 0);
    for entry in golden.split("=== ").skip(1) {
        let (name, rest) = entry.split_once('\n').expect("a name's line");
        let (body, verdict) = rest.split_once("--- ").expect("a verdict");
        let body: String = body.lines().map(|line| ["    ", line, "\n"].concat()).collect();
        let program = Program::from_file(&format!("{preamble}{body}")).with_args([
            I32,
            RequestArg::Int(5),
            RequestArg::Int(3),
        ]);
        let ours = describe_outcome(&program);
        let theirs = verdict.split(':').next().unwrap_or(verdict).trim();
        let deviation = DEVIATIONS.iter().find(|(deviation, ..)| *deviation == name);
        let expected = deviation.map_or(theirs, |(_, outcome, _)| outcome);
        seen += 1;
        deviations += usize::from(deviation.is_some() && expected != theirs);
        if !ours.starts_with(expected) {
            wrong.push(format!("=== {name}: Triton {verdict}{ours}\n"));
        }
        let (Some((line, message)), true) = (parse_refusal(&ours), theirs == "rejected") else {
            continue;
        };
        rejected += 1;
        let (at, reason) = verdict
            .trim()
            .trim_start_matches("rejected: ")
            .split_once(' ')
            .expect("a line and a reason");
        let _ = writeln!(reasons, "{name}\n  Triton: {reason}\n  Cerith:  {message}");
        let wanted = LINES.iter().find(|(program, ..)| *program == name);
        moved += usize::from(wanted.is_some());
        let wanted = wanted.map_or_else(|| at.to_owned(), |(_, line, _)| line.to_string());
        // `?`: the compiler names no line.
        if wanted != "?" && wanted != line.to_string() {
            elsewhere.push(format!(
                "{name}: Triton says line {at}, not {line}: {message} | {reason}\n"
            ));
        }
    }
    assert!(
        seen > 1000 && rejected > 550,
        "{seen} programs, {rejected} of them wrong"
    );
    assert_eq!(deviations, DEVIATIONS.len(), "a deviation that is none");
    assert!(wrong.is_empty(), "{} of {seen}\n{}", wrong.len(), wrong.concat());
    assert!(
        elsewhere.is_empty(),
        "{} of {rejected}\n{}",
        elsewhere.len(),
        elsewhere.concat()
    );
    assert_eq!(moved, LINES.len(), "a line that is the compiler's");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../../snapshots/frontend");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("reasons", reasons));
}
