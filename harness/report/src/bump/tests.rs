//! Changes out of verdicts that the tests make up.

use super::*;
use crate::event::{Difference, Element, EngineOutcome, Kind, OutcomeKind, Rule, VerdictKind};
use crate::style::Palette;

/// The behaviour of an engine in a case.
#[derive(Clone, Copy)]
enum Does {
    Right,
    /// Other bytes, explained by this known bug, or by none.
    Bytes(&'static str),
    /// Raises this.
    Raises(&'static str),
    /// Rejects it.
    Rejects,
    Silent,
}

fn build_verdict(case: &str, engines: &[(&str, Does)]) -> Verdict {
    let mut verdict = Verdict {
        case: case.to_owned(),
        engines: engines.iter().map(|(id, _)| (*id).to_owned()).collect(),
        verdict: VerdictKind::Agree,
        ..Verdict::default()
    };
    for &(id, does) in engines {
        let mut outcome = EngineOutcome::default();
        let mut difference = Difference {
            baseline: "reference".to_owned(),
            engine: id.to_owned(),
            kind: Kind::Trap,
            ..Difference::default()
        };
        match does {
            Does::Right => continue,
            Does::Silent => {
                outcome.outcome = OutcomeKind::Unavailable;
                verdict.outcomes.insert(id.to_owned(), outcome);
                continue;
            }
            Does::Bytes(bug) => {
                difference.kind = Kind::Memory;
                difference.elements = 3;
                difference.first = vec![Element {
                    bits: ["0x1".to_owned(), format!("0x{}", bug.len())],
                    ..Element::default()
                }];
                if !bug.is_empty() && !bug.starts_with('?') {
                    difference.explained = vec![bug.to_owned()];
                }
            }
            Does::Raises(message) => {
                outcome.outcome = OutcomeKind::Trapped;
                outcome.error = "TypeError".to_owned();
                outcome.message = message.to_owned();
                verdict.outcomes.insert(id.to_owned(), outcome);
            }
            Does::Rejects => {
                outcome.outcome = OutcomeKind::Rejected;
                outcome.message = "no such thing".to_owned();
                verdict.outcomes.insert(id.to_owned(), outcome);
                difference.kind = Kind::Acceptance;
            }
        }
        verdict.verdict = VerdictKind::Differ;
        verdict.blame.push(id.to_owned());
        verdict.differences.push(difference);
    }
    verdict
}

const OLD: &str = "interpret@3.8.0";
const NEW: &str = "interpret@3.9.0";

fn build_pair_verdict(case: &str, old: Does, new: Does) -> Verdict {
    build_verdict(case, &[("reference", Does::Right), (OLD, old), (NEW, new)])
}

fn to_uses(names: &[&str]) -> Arc<[String]> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn check(old: Does, new: Does, expected: Change) {
    let mut bump = Bump::new(OLD, NEW);
    bump.add_verdict(&build_pair_verdict("a/b", old, new), to_uses(&[]));
    let counts = bump.finish().counts;
    assert_eq!(counts.keys().collect::<Vec<_>>(), [&expected]);
}

#[test]
fn each_case_comes_to_one_change() {
    check(Does::Right, Does::Right, Change::Unchanged);
    check(Does::Right, Does::Bytes("bf16-is-bits"), Change::Broke);
    check(Does::Right, Does::Rejects, Change::NewlyRejected);
    check(Does::Bytes("bf16-is-bits"), Does::Right, Change::Fixed);
    check(Does::Rejects, Does::Right, Change::NewlyAccepted);
    check(Does::Raises("x"), Does::Right, Change::Fixed);
    check(Does::Raises("x 1"), Does::Raises("x 22"), Change::StillWrong);
    check(Does::Raises("x"), Does::Raises("y"), Change::Changed);
    check(Does::Bytes("?"), Does::Bytes("?"), Change::StillWrong);
    check(Does::Bytes("?"), Does::Bytes("??"), Change::Changed);
    check(Does::Silent, Does::Right, Change::NotCompared);
    check(Does::Bytes("?"), Does::Rejects, Change::NewlyRejected);
}

#[test]
fn a_rule_of_the_language_is_nobodys_fault() {
    let mut bump = Bump::new(OLD, NEW);
    let mut one = build_pair_verdict("a/b", Does::Right, Does::Right);
    one.rules = vec![Rule {
        rule: "WeakPythonScalars".to_owned(),
        ..Rule::default()
    }];
    bump.add_verdict(&one, to_uses(&[]));
    let changes = bump.finish();
    assert_eq!(changes.count(Change::RuleChanged), 1);
    assert_eq!(
        changes.groups[0].cause,
        Cause::Rules(vec!["WeakPythonScalars".to_owned()])
    );
}

#[test]
fn what_nothing_explains_is_told_by_what_the_cases_execute() {
    let mut bump = Bump::new(OLD, NEW);
    for (n, names) in [
        (0, &["tl.load f32", "tensor.__xor__ i32"][..]),
        (1, &["tl.load i32", "tensor.__xor__ i32", "tl.sum i32"]),
        (2, &["tl.load i32", "tensor.__xor__ u8"]),
        (3, &["tl.load i32", "tl.maximum f32"]),
        (4, &["tl.load i32", "tl.maximum f32", "tl.sum f32"]),
    ] {
        bump.add_verdict(
            &build_pair_verdict(&format!("broken/c{n}"), Does::Right, Does::Bytes("?")),
            to_uses(names),
        );
    }
    for n in 0..9 {
        let names = ["tl.load i32", "tl.load f32", "tl.sum i32", "tl.sum f32"];
        bump.add_verdict(
            &build_pair_verdict(&format!("right/c{n}"), Does::Right, Does::Right),
            to_uses(&names),
        );
    }
    // A maximum that is still right.
    bump.add_verdict(
        &build_pair_verdict("right/max", Does::Right, Does::Right),
        to_uses(&["tl.maximum f32"]),
    );
    let changes = bump.finish();
    let told: Vec<(String, usize, &str)> = changes
        .groups
        .iter()
        .map(|group| {
            (
                text::describe_cause(&group.cause),
                group.cases.len(),
                &*group.smallest,
            )
        })
        .collect();
    let expected = [
        (
            "each executes `tensor.__xor__`; no case that is right does".to_owned(),
            3,
            "broken/c0",
        ),
        (
            "each executes `tl.maximum`; one that is right does too".to_owned(),
            2,
            "broken/c3",
        ),
    ];
    assert_eq!(told, expected);
}

#[test]
fn another_run_tells_of_the_old_engine() {
    let old: Vec<Verdict> = [("a", Does::Right), ("b", Does::Right), ("gone", Does::Right)]
        .map(|(case, does)| build_verdict(case, &[("reference", Does::Right), (OLD, does)]))
        .into();
    let mut bump = Bump::new(OLD, NEW).with_other_run(&old);
    for (case, does) in [
        ("a", Does::Right),
        ("b", Does::Raises("x")),
        ("added", Does::Right),
    ] {
        bump.add_verdict(
            &build_verdict(case, &[("reference", Does::Right), (NEW, does)]),
            to_uses(&[]),
        );
    }
    let changes = bump.finish();
    assert_eq!(changes.count(Change::Unchanged), 1);
    assert_eq!(changes.count(Change::Broke), 1);
    assert_eq!(changes.alone, [vec!["gone".to_owned()], vec!["added".to_owned()]]);
}

#[test]
fn a_run_of_many_versions_tells_of_two() {
    const EARLY: &str = "interpret@3.2.0";
    let rule = |name: &str, since: &str| Rule {
        rule: name.to_owned(),
        since: since.to_owned(),
        ..Rule::default()
    };
    let all: Vec<Verdict> = ["a", "b"]
        .map(|case| {
            let new = if case == "a" {
                Does::Raises("x")
            } else {
                Does::Right
            };
            let mut told = build_verdict(
                case,
                &[
                    ("reference", Does::Right),
                    (EARLY, Does::Right),
                    (OLD, Does::Right),
                    (NEW, new),
                ],
            );
            told.rules = vec![rule("Early", "3.2.0"), rule("Between", "3.3.0")];
            told
        })
        .into();
    let check = |old: &str, expected: &[(Change, u64)]| {
        let mut bump = Bump::new(old, NEW).with_other_run(&all);
        // Nothing but the reference is run again.
        for case in ["a", "b"] {
            bump.add_verdict(&build_verdict(case, &[("reference", Does::Right)]), to_uses(&[]));
        }
        let changes = bump.finish();
        let counts: Vec<(Change, u64)> = changes
            .counts
            .iter()
            .map(|(&change, &count)| (change, count))
            .collect();
        assert_eq!(counts, expected, "{old}");
        assert_eq!(changes.alone, [Vec::<String>::new(), Vec::new()]);
    };
    check(OLD, &[(Change::Broke, 1), (Change::Unchanged, 1)]);
    // The rule of 3.3 lies between these two.
    check(EARLY, &[(Change::Broke, 1), (Change::RuleChanged, 1)]);
}

fn build_changes() -> Changes {
    let mut bump = Bump::new(OLD, NEW);
    for n in 0..5 {
        bump.add_verdict(
            &build_pair_verdict(&format!("dtype/b{n}"), Does::Right, Does::Bytes("bf16-is-bits")),
            to_uses(&["tl.load bf16"]),
        );
    }
    bump.add_verdict(
        &build_pair_verdict("dtype/x", Does::Right, Does::Rejects),
        to_uses(&[]),
    );
    bump.add_verdict(
        &build_pair_verdict("alias/y", Does::Raises("x"), Does::Right),
        to_uses(&[]),
    );
    bump.add_verdict(
        &build_pair_verdict("alias/z|\u{1b}[2J\n::error::", Does::Raises("<b>|x"), Does::Right),
        to_uses(&[]),
    );
    bump.add_verdict(
        &build_pair_verdict("alias/same", Does::Right, Does::Right),
        to_uses(&[]),
    );
    bump.finish()
}

fn check_snapshot(name: &str, text: &str) {
    insta::with_settings!({snapshot_path => "../../../../snapshots/report", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn a_terminal_hears_of_causes_first() {
    check_snapshot(
        "bump_human",
        &render_human(&build_changes(), &[], Palette::default(), false),
    );
}

#[test]
fn a_pull_request_gets_a_table_that_nothing_in_a_case_breaks() {
    check_snapshot("bump_markdown", &render_markdown(&build_changes(), &[]));
}

#[test]
fn a_workflow_gets_one_command_for_each_group() {
    check_snapshot("bump_github", &render_github(&build_changes(), &[]));
}
