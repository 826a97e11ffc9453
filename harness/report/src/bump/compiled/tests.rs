//! Figures that the tests make up.

use std::sync::Arc;

use super::super::{Bump, render_human};
use super::*;
use crate::event::{Difference, EngineOutcome, Kind, OutcomeKind, Verdict, VerdictKind};
use crate::style::Palette;

const OLD: &str = "cuda@3.8.0";
const NEW: &str = "cuda@3.9.0";

/// A kernel of so many bytes, compiled in so many milliseconds.
fn build_compiled(name: &str, code: u64, milliseconds: f64) -> Compiled {
    Compiled {
        file: "cases/k.py".to_owned(),
        target: "sm_90".to_owned(),
        seconds: milliseconds / 1e3,
        kernels: vec![CompiledKernel {
            name: name.to_owned(),
            launches: 1,
            params: vec!["pointer".to_owned(), "4 bytes".to_owned()],
            num_warps: 4,
            num_ctas: 1,
            cubin: code + 5000,
            code,
            registers: 20,
            ..CompiledKernel::default()
        }],
    }
}

fn build_changes(cases: &[(&str, Compiled, Compiled)], noise: Noise) -> Changes {
    let mut bump = Bump::new(OLD, NEW).with_noise(noise);
    for (case, old, new) in cases {
        let verdict = Verdict {
            case: (*case).to_owned(),
            engines: ["reference", OLD, NEW].map(str::to_owned).to_vec(),
            verdict: VerdictKind::Agree,
            compiled: [(OLD.to_owned(), old.clone()), (NEW.to_owned(), new.clone())].into(),
            ..Verdict::default()
        };
        bump.add_verdict(&verdict, Arc::from(Vec::new()));
    }
    bump.finish()
}

#[test]
fn sizes_within_noise_are_no_news_and_larger_changes_come_first() {
    let cases = [
        (
            "dot/a:n=1",
            build_compiled("dot", 1000, 50.0),
            build_compiled("dot", 3000, 50.0),
        ),
        (
            "dot/a:n=2",
            build_compiled("dot", 2000, 50.0),
            build_compiled("dot", 6000, 50.0),
        ),
        // By little: 20 percent, and 200 bytes.
        (
            "dot/b",
            build_compiled("little", 10_000, 50.0),
            build_compiled("little", 12_000, 50.0),
        ),
        (
            "sort/a",
            build_compiled("few", 100, 50.0),
            build_compiled("few", 300, 50.0),
        ),
        (
            "scan/a",
            build_compiled("scan", 8000, 50.0),
            build_compiled("scan", 1000, 50.0),
        ),
    ];
    let all = build_changes(&cases, Noise::default());
    let groups: Vec<(&str, usize)> = all
        .groups
        .iter()
        .map(|group| {
            assert_eq!(group.change, Change::SizeChanged);
            (group.smallest.as_str(), group.cases.len())
        })
        .collect();
    assert_eq!(groups, [("scan/a", 1), ("dot/a:n=1", 2)]);
    assert_eq!(all.count(Change::SizeChanged), 3);
    assert_eq!(all.count(Change::Unchanged), 5, "figures change nothing else");
    let text = render_human(&all, &[], Palette::default(), false);
    assert!(
        text.contains("dot: ×3.00 cases/k.py:dot (1500 → 4500 bytes)"),
        "{text}"
    );
    assert!(
        text.contains("machine code: 2 of 4 kernels changed by more than 25% and 256 bytes; the median over all is ×2.10"),
        "{text}"
    );
    // Who takes less for noise hears of more.
    let noise = Noise {
        share: 0.1,
        ..Noise::default()
    };
    assert_eq!(build_changes(&cases, noise).count(Change::SizeChanged), 4);
}

#[test]
fn a_machine_that_is_slower_for_all_is_told_once() {
    /// Three cases of a kernel that takes so many times as long; each is measured a little otherwise.
    fn build_slower_cases(kernel: &str, old: f64, by: f64) -> Vec<(String, Compiled, Compiled)> {
        let case = |nth: u8| {
            let [old, new] =
                [old, old * by].map(|time| build_compiled(kernel, 1000, time * (1.0 + f64::from(nth) / 1e3)));
            (format!("area/{kernel}:n={nth}"), old, new)
        };
        (0..3).map(case).collect()
    }
    fn judge_cases(cases: &[(String, Compiled, Compiled)]) -> Changes {
        let cases: Vec<_> = cases
            .iter()
            .map(|(case, old, new)| (case.as_str(), old.clone(), new.clone()))
            .collect();
        build_changes(&cases, Noise::default())
    }
    let mut cases: Vec<_> = (0..12)
        .flat_map(|nth| build_slower_cases(&format!("k{nth}"), 200.0, 2.0))
        .collect();
    let all = judge_cases(&cases);
    assert_eq!(all.count(Change::TimeChanged), 0);
    assert!((all.measures[1].ratio - 2.0).abs() < 1e-3);
    // One of them by more than the others.
    cases.splice(0..3, build_slower_cases("k0", 200.0, 4.0));
    let all = judge_cases(&cases);
    assert_eq!(all.count(Change::TimeChanged), 3);
    assert_eq!(all.groups[0].smallest, "area/k0:n=0");
    // A few kernels show nothing about the machine.
    assert_eq!(
        judge_cases(&build_slower_cases("k", 200.0, 2.0)).count(Change::TimeChanged),
        3
    );
    // 50 ms more are noise, however many times that is; and so is what was measured twice.
    assert_eq!(
        judge_cases(&build_slower_cases("k", 10.0, 6.0)).count(Change::TimeChanged),
        0
    );
    let twice = judge_cases(&build_slower_cases("k", 200.0, 2.0)[..2]);
    assert_eq!((twice.count(Change::TimeChanged), twice.measures[1].few), (0, 1));
    // Cases that were compiled together were measured once.
    let (_, old, new) = build_slower_cases("k", 200.0, 2.0).swap_remove(0);
    let once: Vec<_> = (0..5)
        .map(|nth| (format!("area/k:n={nth}"), old.clone(), new.clone()))
        .collect();
    assert_eq!(judge_cases(&once).count(Change::TimeChanged), 0);
}

/// Without an execution, a case that compiled and is now rejected is still reported.
#[test]
fn a_case_that_no_longer_compiles_is_newly_rejected_without_a_record() {
    let case = |silent: &str, rejected: &str| {
        let outcome = |outcome, error: &str| EngineOutcome {
            outcome,
            error: error.to_owned(),
            ..EngineOutcome::default()
        };
        Verdict {
            case: "dot/a".to_owned(),
            engines: ["reference", OLD, NEW].map(str::to_owned).to_vec(),
            verdict: VerdictKind::Differ,
            blame: vec![rejected.to_owned()],
            outcomes: [
                (
                    silent.to_owned(),
                    outcome(OutcomeKind::Unavailable, "no-recording"),
                ),
                (
                    rejected.to_owned(),
                    outcome(OutcomeKind::Rejected, "CompilationError"),
                ),
            ]
            .into(),
            differences: vec![Difference {
                baseline: "reference".to_owned(),
                engine: rejected.to_owned(),
                kind: Kind::Acceptance,
                ..Difference::default()
            }],
            compiled: [(silent.to_owned(), build_compiled("dot", 1000, 50.0))].into(),
            ..Verdict::default()
        }
    };
    let change = |verdict: &Verdict| {
        let mut bump = Bump::new(OLD, NEW);
        bump.add_verdict(verdict, Arc::from(Vec::new()));
        bump.finish()
    };
    assert_eq!(change(&case(OLD, NEW)).count(Change::NewlyRejected), 1);
    assert_eq!(change(&case(NEW, OLD)).count(Change::NewlyAccepted), 1);
    // A case without compiled code is not compared, and the reason is printed.
    let mut unknown = case(OLD, NEW);
    unknown.compiled.clear();
    let changes = change(&unknown);
    assert_eq!(changes.count(Change::NotCompared), 1);
    let text = render_human(&changes, &[], Palette::default(), false);
    assert!(
        text.contains(
            "not compared: 1 case: cuda@3.8.0 has no outcome, no-recording\n  = help: `cerith bundle`"
        ),
        "{text}"
    );
}

#[test]
fn launches_that_are_made_otherwise_are_told_by_way() {
    let scratch = Some(Scratch { size: 0, align: 1 });
    let old = build_compiled("k", 1000, 50.0);
    let mut new = old.clone();
    new.kernels[0].global_scratch = scratch;
    new.kernels[0].shared = 1024;
    let mut more = new.clone();
    more.kernels[0].shared = 4096;
    more.kernels[0].params = vec!["pointer".to_owned(); 2];
    let mut two = new.clone();
    two.kernels.push(two.kernels[0].clone());
    let all = build_changes(
        &[
            ("a/one", old.clone(), new),
            ("a/more", old.clone(), more),
            ("a/two", old.clone(), two),
            ("a/same", old.clone(), old),
        ],
        Noise::default(),
    );
    let ways: Vec<(String, &str, usize)> = all
        .groups
        .iter()
        .filter(|group| group.change == Change::SignatureChanged)
        .map(|group| match &group.cause {
            Cause::Launch { way, .. } => (way.clone(), group.smallest.as_str(), group.cases.len()),
            other => panic!("{other:?}"),
        })
        .collect();
    let way = |way: &str| ways.iter().find(|(name, ..)| name == way);
    assert_eq!(all.count(Change::SignatureChanged), 3);
    assert_eq!(
        way("global scratch memory is a parameter").map(|way| way.2),
        Some(2)
    );
    assert_eq!(
        way("shared memory, where there was none").map(|way| (way.1, way.2)),
        Some(("a/more", 2)),
        "the greatest first"
    );
    assert!(way("parameters: 1 less of 4 bytes, 1 more of pointer").is_some());
    assert!(way("2 kernels instead of 1").is_some());
    assert_eq!(ways.len(), 4, "{ways:?}");
    let text = render_human(&all, &[Change::SignatureChanged], Palette::default(), false);
    assert!(text.contains("most: 4096 instead of 0 bytes"), "{text}");
}

/// Compilations of two runs are compared like those of one run.
#[test]
fn another_run_tells_what_the_old_one_was_compiled_to() {
    let side = |engine: &str, code: u64| Verdict {
        case: "dot/a".to_owned(),
        engines: vec!["reference".to_owned(), engine.to_owned()],
        verdict: VerdictKind::Agree,
        compiled: [(engine.to_owned(), build_compiled("dot", code, 50.0))].into(),
        ..Verdict::default()
    };
    let (old, new) = (side(OLD, 1000), side(NEW, 2000));
    let mut bump = Bump::new(OLD, NEW).with_other_run([&old]);
    bump.add_verdict(&new, Arc::from(Vec::new()));
    assert_eq!(bump.finish().count(Change::SizeChanged), 1);
}
