//! The verdict and the blamed engines for a list of outcomes, as one line each.

use std::fmt::Write as _;

use cerith_accept::Accepted;
use cerith_case::{EnginePattern, Expectation, OutcomeKind, VerdictKind};
use cerith_engine::{
    Complaint, EngineId, Execution, Families, Family, Finished, GLOBAL_RACE, Outcome, Tracked, Trap,
};
use cerith_interp::StorageSet;
use cerith_memory::{ByteState, Memory, NamedTensor, ORIGIN, StorageId, Storages, Tensor};
use cerith_tile::DType;
use cerith_tile::quirk::Quirks;
use cerith_tile::rules::Version;
use cerith_tile::source::Span;
use cerith_verdict::{
    Bench, BitForBit, EngineFacts, Facts, Standing, Testimony, Tolerance, Undefined, Verdict, Witness,
    assess, judge,
};

/// One storage of four f32, seen as `x`.
fn build_memory(values: [f32; 4]) -> Memory {
    let mut storages = Storages::new();
    let id = storages.add("x", 16).expect("small");
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    assert!(storages.write(id, 0, &bytes));
    let tensor = Tensor::new_contiguous(id, DType::F32, &[4]);
    Memory::new(
        &storages,
        vec![NamedTensor {
            name: "x".to_owned(),
            tensor,
        }],
    )
}

fn finish(memory: Memory, tracked: Option<Tracked>) -> Outcome {
    Outcome::Finished(Box::new(Finished {
        memory,
        tracked,
        unsteady: None,
        execution: None,
        printed: Vec::new(),
        remark: None,
    }))
}

const STORED: Tracked = Tracked {
    stored: 16,
    poisoned: 0,
    vacuous: false,
    order_dependent: false,
    endangered: StorageSet::NONE,
};

/// An outcome in a word: a number for finished memory that begins with it, or a kind of failure.
fn parse_outcome(word: &str, reference: bool) -> Outcome {
    let complaint = |kind: &str| Box::new(Complaint::new(kind, format!("{word} it was")));
    match word {
        "rejected" => Outcome::Rejected(complaint("rejected")),
        "undefined" => Outcome::Trapped(Trap::Undefined, complaint("out-of-bounds")),
        "assert" => Outcome::Trapped(Trap::Assert, complaint("assertion-failed")),
        "AssertionError" | "TypeError" | "misaligned" => Outcome::Trapped(Trap::Raised, complaint(word)),
        "bitcast" => Outcome::Rejected(Box::new(Complaint::new("rejected", "cannot bitcast f32 to i16"))),
        "library" => {
            let message = "cannot convert None of type <class 'NoneType'> to tensor";
            Outcome::Trapped(Trap::Raised, Box::new(Complaint::new("ValueError", message)))
        }
        "pass" => {
            let message = "PassManager::run failed: cannot convert a layout";
            Outcome::Rejected(Box::new(Complaint::new("RuntimeError", message)))
        }
        "unsupported" => Outcome::Unsupported(complaint("unsupported")),
        "exhausted" => Outcome::Exhausted(complaint("time")),
        "crashed" => Outcome::Crashed(complaint("crash")),
        "unavailable" => Outcome::Unavailable(complaint("no-gpu")),
        "guard" => {
            let mut memory = build_memory([1.0; 4]);
            let behind = (memory.address(StorageId(0)) - ORIGIN) as usize + 16;
            memory.arena_mut().0[behind] = 0;
            finish(memory, None)
        }
        "poison" => {
            let mut memory = build_memory([1.0; 4]);
            memory.parts_mut(StorageId(0)).1.fill(ByteState::Poison);
            finish(
                memory,
                Some(Tracked {
                    stored: 16,
                    poisoned: 16,
                    vacuous: true,
                    ..Tracked::default()
                }),
            )
        }
        "unsteady" => {
            let Outcome::Finished(mut finished) = finish(build_memory([1.0; 4]), None) else {
                unreachable!("just finished")
            };
            finished.unsteady = Some(Box::new(build_memory([1.0, 2.0, 1.0, 1.0])));
            Outcome::Finished(finished)
        }
        "scheduled" => {
            let Outcome::Finished(mut finished) = finish(build_memory([1.0; 4]), None) else {
                unreachable!("just finished")
            };
            finished.unsteady = Some(Box::new(build_memory([1.0, 2.0, 1.0, 1.0])));
            finished.execution = Some(Box::new(Execution {
                schedules: Some(["the default schedule", "schedule 2 of 3"].map(str::to_owned)),
                ..Execution::default()
            }));
            Outcome::Finished(finished)
        }
        "hinted" => {
            let Outcome::Finished(mut finished) = finish(build_memory([1.0; 4]), Some(STORED)) else {
                unreachable!("just finished")
            };
            finished.remark = Some(complaint("false-promise"));
            Outcome::Finished(finished)
        }
        "racy" => finish(
            build_memory([1.0; 4]),
            Some(Tracked {
                order_dependent: true,
                ..STORED
            }),
        ),
        "endangered" => finish(
            build_memory([1.0; 4]),
            Some(Tracked {
                endangered: StorageSet::ALL,
                ..STORED
            }),
        ),
        "race" => Outcome::Trapped(Trap::Raised, complaint(GLOBAL_RACE)),
        number => {
            let value: f32 = number.parse().expect(number);
            finish(build_memory([value, 1.0, 1.0, 1.0]), reference.then_some(STORED))
        }
    }
}

/// A witness out of its engine's own code.
fn build_witness<'a>(id: &'a EngineId, origin: &'a EngineId, outcome: &'a Outcome) -> Witness<'a> {
    Witness {
        id,
        origin,
        families: Families::from_engine(origin),
        outcome,
    }
}

/// `reference=1 interpret@3.9.0=2`; with `!` after it, it is expected to differ so, with `?` it is expected to differ, with `~`
/// it is a record that agreed, with `^` one that was undecided, with `=` any record, with `*` a known bug explains it, with `&`
/// it came out of Triton's shared Python. For the reference, `-` means that no expectation says that it has no answer, and `+`
/// that one does.
fn judge_line(line: &str) -> (Vec<(EngineId, Outcome)>, Verdict) {
    let mut known = EngineFacts {
        through: vec!["tl.flip".to_owned()],
        ..EngineFacts::default()
    };
    let mut shared = Vec::new();
    let outcomes: Vec<(EngineId, Outcome)> = line
        .split_whitespace()
        .map(|part| {
            let (id, word) = part.split_once('=').expect(part);
            let id: EngineId = id.parse().expect(id);
            let marks = word.trim_start_matches(|c| !"!?~^=&+-*".contains(c));
            for mark in marks.chars() {
                match mark {
                    '!' => known.foreseen.push(id.clone()),
                    '?' => known.offenders.push(id.clone()),
                    '*' => known.explained.push(id.clone()),
                    '~' => known.agreed.push(id.clone()),
                    '^' => known.undecided.push(id.clone()),
                    '=' => known.on_record = true,
                    '-' => known.undefined = Undefined::Unforeseen,
                    '+' => known.undefined = Undefined::Foreseen,
                    _ => shared.push(id.clone()),
                }
            }
            let word = word.strip_suffix(marks).unwrap_or(word);
            let outcome = parse_outcome(word, id == EngineId::Reference);
            (id, outcome)
        })
        .collect();
    let verdict = {
        let all: Vec<Witness<'_>> = outcomes
            .iter()
            .map(|(id, outcome)| {
                let mut witness = build_witness(id, id, outcome);
                if shared.contains(id) {
                    witness.families = witness.families.with_family(Family::Language);
                }
                witness
            })
            .collect();
        let (reference, others) = all
            .into_iter()
            .partition::<Vec<_>, _>(|one| *one.id == EngineId::Reference);
        let bench = Bench {
            reference: reference.first().copied(),
            other_witnesses: others,
            tolerance: &BitForBit,
            engine_facts: known,
        };
        judge(&[bench], Facts { has_launches: true })
    };
    (outcomes, verdict)
}

/// Holds text against the accepted one in the folder of all snapshots.
fn accept(name: &str, text: &str) {
    insta::with_settings!({snapshot_path => "../../../../snapshots/verdict", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!(name, text);
    });
}

fn in_a_line(verdict: &Verdict) -> String {
    let mut line = verdict.kind.to_string();
    if !verdict.blame.is_empty() {
        let blame: Vec<String> = verdict.blame.iter().map(ToString::to_string).collect();
        let _ = write!(line, ", blame {}", blame.join(" "));
    }
    if verdict.unconfirmed {
        line.push_str(", unconfirmed");
    }
    if verdict.vacuous {
        line.push_str(", vacuous");
    }
    for difference in &verdict.differences {
        let _ = write!(
            line,
            ", {} {} from {}",
            difference.engine,
            difference.kind.name(),
            difference.baseline
        );
    }
    if let Some(reason) = &verdict.reason {
        let _ = write!(line, " ({reason})");
    }
    for said in verdict.suspected.iter().chain(&verdict.notes) {
        let _ = write!(line, " [{said}]");
    }
    line
}

#[test]
fn camps_convict() {
    let table = [
        // The reference and another one.
        "reference=1 interpret@3.9.0=1",
        "reference=1 interpret@3.9.0=2",
        "reference=1 interpret@3.2.0=2 interpret@3.9.0=1",
        "reference=1 interpret@3.2.0=2 interpret@3.9.0=2",
        // Three independent ones.
        "reference=1 interpret@3.9.0=2 cuda@3.9.0=1",
        "reference=1 interpret@3.9.0=1 cuda@3.9.0=2",
        "reference=1 interpret@3.9.0=2 cuda@3.9.0=2",
        "reference=1 interpret@3.9.0=2! cuda@3.9.0=2!",
        "reference=1 interpret@3.9.0=2! cuda@3.9.0=2",
        "reference=1 interpret@3.9.0=2 cuda@3.9.0=3",
        "reference=1 interpret@3.2.0=3 interpret@3.9.0=2 cuda@3.9.0=2",
        "reference=1 interpret@3.2.0=1 interpret@3.9.0=2 cuda@3.9.0=2",
        // Inductor with others' code: one with the reference's says nothing for or against the reference.
        "reference=1 inductor@2.11.0=1",
        "reference=1 inductor@2.11.0=1 inductor@2.11.0+interpret=1",
        "reference=1 inductor@2.11.0=1 interpret@3.6.0=2",
        "reference=1 inductor@2.11.0=1 interpret@3.6.0=2 cuda@3.6.0=2",
        "reference=1 inductor@2.11.0+interpret=1 cuda@3.6.0=2",
        "reference=1 inductor@2.11.0=2 inductor@2.11.0+interpret=2",
        "reference=1 inductor@2.11.0=2 inductor@2.11.0+interpret=1",
        "reference=1 inductor@2.11.0=2 interpret@3.6.0=2",
        "reference=1 inductor@2.11.0+interpret=2 interpret@3.6.0=2",
        "reference=1 inductor@2.11.0+interpret=2 cuda@3.6.0=2",
        "reference=1 inductor@2.5.1=rejected inductor@2.5.1+interpret=rejected inductor@2.11.0=1",
        "reference=unsupported interpret@3.6.0=1 inductor@2.11.0+interpret=1",
        // Refusals.
        "reference=rejected interpret@3.9.0=1",
        "reference=rejected interpret@3.9.0=TypeError",
        "reference=rejected cuda@3.9.0=rejected",
        "reference=bitcast interpret@3.9.0=library",
        "reference=bitcast interpret@3.9.0=library*",
        "reference=bitcast interpret@3.9.0=library* cuda@3.9.0=bitcast",
        "reference=1 interpret@3.9.0=TypeError cuda@3.9.0=rejected",
        "reference=1 interpret@3.9.0=TypeError* cuda@3.9.0=rejected",
        "reference=1 interpret@3.9.0=library cuda@3.9.0=pass",
        "reference=1 interpret@3.9.0=crashed cuda@3.9.0=crashed",
        "reference=1 interpret@3.9.0=2* cuda@3.9.0=2",
        "reference=unsupported interpret@3.9.0=library cuda@3.9.0=bitcast",
        "reference=1 cuda@3.9.0=rejected",
        "reference=1 interpret@3.9.0=TypeError",
        "reference=1 interpret@3.9.0=crashed",
        "reference=1 interpret@3.9.0=guard",
        "reference=assert interpret@3.9.0=AssertionError",
        "reference=assert interpret@3.9.0=TypeError",
        "reference=assert interpret@3.9.0=1",
        // Launches of one engine that do not agree with each other.
        "reference=1 cuda@3.9.0=unsteady",
        "reference=1 interpret@3.9.0=1 cuda@3.9.0=unsteady",
        "reference=1 interpret@3.9.0=2 cuda@3.9.0=unsteady",
        "reference=racy cuda@3.9.0=unsteady",
        "reference=undefined cuda@3.9.0=unsteady",
        "interpret@3.9.0=1 cuda@3.9.0=unsteady",
        "cuda@3.9.0=unsteady",
        "reference=unsupported cuda@3.9.0=unsteady",
        // Schedules of one engine that do not agree with each other.
        "reference=1 ptx@3.9.0=scheduled",
        "reference=1 interpret@3.9.0=1 ptx@3.9.0=scheduled",
        "ptx@3.9.0=scheduled",
        "reference=undefined ptx@3.9.0=scheduled",
        // Undefined ends the trial.
        "reference=undefined interpret@3.9.0=1 cuda@3.9.0=2",
        "reference=undefined",
        // A broken promise of the kernel ends nothing, and blames no engine.
        "reference=hinted interpret@3.9.0=1",
        "reference=hinted interpret@3.9.0=1 cuda@3.9.0=2",
        "reference=hinted interpret@3.9.0=TypeError",
        // A kernel that relies on a barrier: a race where the compiler leaves it out is the kernel's own.
        "reference=endangered ptx@3.9.0=1",
        "reference=endangered ptx@3.9.0=race",
        "reference=endangered ptx@3.9.0=2",
        "reference=endangered interpret@3.9.0=2",
        "reference=1 ptx@3.9.0=race",
        // Silence.
        "reference=1",
        "reference=1 interpret@3.9.0=exhausted",
        "reference=1 interpret@3.9.0=unavailable cuda@3.9.0=unavailable",
        "reference=unsupported interpret@3.9.0=1",
        "reference=unsupported interpret@3.2.0=1 interpret@3.9.0=1",
        "reference=unsupported interpret@3.2.0=1 interpret@3.9.0=2",
        "reference=unsupported interpret@3.9.0=1 cuda@3.9.0=1",
        "reference=exhausted interpret@3.2.0=2 interpret@3.9.0=1 cuda@3.9.0=1",
        "interpret@3.9.0=1 cuda@3.9.0=1",
        "interpret@3.9.0=1 cuda@3.9.0=2",
        "interpret@3.9.0=1",
        "reference=unsupported interpret@3.9.0=exhausted",
        // Nothing to compare.
        "reference=poison interpret@3.9.0=2",
        "reference=racy interpret@3.9.0=2",
        "reference=racy interpret@3.9.0=1",
    ];
    let mut lines = String::new();
    for line in table {
        let _ = writeln!(lines, "{line}\n    {}", in_a_line(&judge_line(line).1));
    }
    accept("camps", &lines);
}

#[test]
fn shared_code_known_offenders_and_records_are_weighed() {
    let table = [
        // Two engines, one body of code.
        "reference=1 interpret@3.2.0=2& cuda@3.2.0=2&",
        "reference=1 interpret@3.2.0=2& cuda@3.2.0=2",
        "reference=1 interpret@3.2.0=1& cuda@3.2.0=2&",
        "reference=1 interpret@3.2.0=TypeError& cuda@3.2.0=rejected&",
        "reference=1 interpret@3.2.0=2& cuda@3.2.0=2& inductor@2.11.0+cuda=2",
        "interpret@3.2.0=2& cuda@3.2.0=2&",
        // PTX that is executed here is the compiler's, and not the reference's.
        "reference=1 interpret@3.2.0=2 ptx@3.2.0=1",
        "reference=1 interpret@3.2.0=2 ptx@3.2.0=2",
        "reference=1 ptx@3.2.0=2 cuda@3.2.0=2",
        "reference=1 ptx@3.2.0=2 cuda@3.2.0=1",
        "ptx@3.2.0=1 cuda@3.2.0=2",
        // An engine that is known to differ confirms no other.
        "reference=1 interpret@3.2.0=1? cuda@3.2.0=2",
        "reference=1 interpret@3.2.0=1? cuda@3.2.0=2!",
        "reference=1 interpret@3.2.0=1? cuda@3.2.0=1",
        "reference=1 interpret@3.2.0=1? inductor@2.11.0+interpret=1 cuda@3.2.0=2",
        // A record that agreed cannot have changed.
        "reference=1 interpret@3.2.0=1 cuda@3.2.0=2~",
        "reference=1 cuda@3.2.0=2~",
        "reference=1 interpret@3.2.0=2 cuda@3.2.0=2~",
        "reference=1 interpret@3.2.0=3! cuda@3.2.0=2~",
        "reference=1 interpret@3.2.0=3 cuda@3.2.0=2~",
        "reference=1 cuda@3.2.0=2~!?",
        "reference=1 interpret@3.2.0=1 cuda@3.2.0=1~",
        "reference=rejected interpret@3.2.0=rejected cuda@3.2.0=2~",
        "reference=1 interpret@3.2.0=1 cuda@3.2.0=2^",
        "reference=1 interpret@3.2.0=1 cuda@3.2.0=2^?",
        // An answer that a record agreed with is gone.
        "reference=undefined- interpret@3.2.0=1 cuda@3.2.0=1~",
        "reference=undefined- interpret@3.2.0=1 cuda@3.2.0=1",
        "reference=undefined+ interpret@3.2.0=1 cuda@3.2.0=1~",
        "reference=undefined interpret@3.2.0=1 cuda@3.2.0=1~",
        "reference=undefined- interpret@3.2.0=1 cuda@3.2.0=2?",
        "reference=undefined+ interpret@3.2.0=1 cuda@3.2.0=2?",
        "reference=unsupported- interpret@3.2.0=1 cuda@3.2.0=1~",
        // There is an answer where none was expected.
        "reference=1+ interpret@3.2.0=1 cuda@3.2.0=1",
        "reference=1+ interpret@3.2.0=1 cuda@3.2.0=1=",
        "reference=1+ interpret@3.2.0=2 cuda@3.2.0=1",
        "reference=1+ interpret@3.2.0=2 cuda@3.2.0=2",
        "reference=1+",
    ];
    let mut lines = String::new();
    for line in table {
        let _ = writeln!(lines, "{line}\n    {}", in_a_line(&judge_line(line).1));
    }
    accept("weighed", &lines);
}

fn build_expectation(engine: &str, versions: &str, verdict: Option<VerdictKind>) -> Expectation {
    Expectation {
        axes: Vec::new(),
        engines: vec![EnginePattern::parse(engine).expect(engine)],
        versions: versions.parse().expect(versions),
        verdict,
        outcome: None,
        message: None,
        quirks: Quirks::NONE,
        reason: "because".to_owned(),
        link: None,
        span: Span::default(),
    }
}

fn assess_line(line: &str, expectations: &[Expectation]) -> String {
    let (outcomes, verdict) = judge_line(line);
    let witnesses: Vec<Testimony<'_>> = outcomes
        .iter()
        .map(|(id, outcome)| Testimony {
            witness: build_witness(id, id, outcome),
            rules: id.version().unwrap_or(Version::NEWEST),
        })
        .collect();
    let assessment = assess(&verdict, &witnesses, expectations);
    let unexpected: Vec<String> = assessment.unexpected.iter().map(ToString::to_string).collect();
    format!(
        "{line}\n    {}, unexpected [{}], {:?}\n",
        if assessment.expected {
            "expected"
        } else {
            "NOT expected"
        },
        unexpected.join(" "),
        assessment.expectations
    )
}

#[test]
fn an_expectation_of_the_reference_is_of_the_language_it_judges_by() {
    let check = |versions: &str, expected: &str| {
        let undefined = build_expectation("reference", versions, Some(VerdictKind::Undefined));
        assert_eq!(
            assess_line("reference=undefined", &[undefined]),
            format!("reference=undefined\n    {expected}\n")
        );
    };
    check("*", "expected, unexpected [], [Yes]");
    check(">=3.9", "expected, unexpected [], [Yes]");
    check("<3.9", "NOT expected, unexpected [reference], [NotTried]");
}

#[test]
fn what_is_said_of_a_compiler_need_not_happen_in_code_for_another_gpu() {
    let check = |pattern: &str, line: &str, expected: &str| {
        let differs = build_expectation(pattern, "*", Some(VerdictKind::Differ));
        assert_eq!(
            assess_line(line, &[differs]),
            format!("{line}\n    {expected}\n"),
            "{pattern}"
        );
    };
    let good = "reference=1 interpret@3.2.0=1 cuda@3.2.0:sm_80=1";
    let bad = "reference=1 interpret@3.2.0=1 cuda@3.2.0:sm_80=2";
    let own = "reference=1 interpret@3.2.0=1 cuda@3.2.0=1";
    check("cuda", good, "expected, unexpected [], [NotTried]");
    check("cuda", bad, "expected, unexpected [], [Yes]");
    check("cuda", own, "NOT expected, unexpected [], [Stale]");
    check("cuda:sm_80", good, "NOT expected, unexpected [], [Stale]");
    check("cuda:sm_80", bad, "expected, unexpected [], [Yes]");
    check("cuda:sm_80", own, "expected, unexpected [], [NotTried]");
    // Dtypes that this GPU lacks are skipped.
    let lacks = "reference=1 interpret@3.2.0=1 cuda@3.2.0:sm_80=unsupported";
    check("cuda", lacks, "expected, unexpected [], [NotTried]");
    let lacking = "reference=1 interpret@3.2.0=1 cuda@3.2.0=unsupported";
    check(
        "cuda:sm_80",
        lacking,
        "NOT expected, unexpected [cuda@3.2.0], [NotTried]",
    );
}

/// Checks expectations of engines with one verdict against one line.
fn check_shared(patterns: &[&str], change: impl Fn(&mut Expectation), line: &str, expected: &str) {
    let mut one = build_expectation(patterns[0], "*", Some(VerdictKind::Differ));
    one.engines = patterns
        .iter()
        .map(|pattern| EnginePattern::parse(pattern).expect(pattern))
        .collect();
    change(&mut one);
    assert_eq!(
        assess_line(line, &[one]),
        format!("{line}\n    {expected}\n"),
        "{patterns:?}"
    );
}

#[test]
fn an_expectation_of_a_compiler_holds_for_its_code_for_hopper_executed_here() {
    let good = "reference=1 interpret@3.2.0=1 ptx@3.2.0:sm_90a=1";
    let bad = "reference=1 interpret@3.2.0=1 ptx@3.2.0:sm_90a=2";
    let check = |patterns: &[&str], line: &str, expected: &str| {
        check_shared(patterns, |_| {}, line, expected);
    };
    for patterns in [
        &["cuda"][..],
        &["ptx"],
        &["cuda", "ptx"],
        &["cuda", "ttgir"],
        &["ptx:sm_90a"],
    ] {
        check(patterns, bad, "expected, unexpected [], [Yes]");
    }
    check(
        &["cuda:sm_80"],
        bad,
        "NOT expected, unexpected [ptx@3.2.0:sm_90a], [NotTried]",
    );
    // A bug of the assembler or of the GPU is not in the PTX, and another target has other code.
    check(&["cuda"], good, "expected, unexpected [], [NotTried]");
    check(&["ptx"], good, "expected, unexpected [], [NotTried]");
    // A bug that both have, or the IR, is Triton's or LLVM's.
    check(&["cuda", "ptx"], good, "NOT expected, unexpected [], [Stale]");
    check(&["cuda", "ttgir"], good, "NOT expected, unexpected [], [Stale]");
    check(&["ptx:sm_90a"], good, "NOT expected, unexpected [], [Stale]");
    let reject = |one: &mut Expectation| one.outcome = Some(OutcomeKind::Rejected);
    let rejected = "reference=1 interpret@3.2.0=1 ptx@3.2.0:sm_90a=rejected";
    check_shared(&["cuda"], reject, rejected, "expected, unexpected [], [Yes]");
    check_shared(&["cuda"], reject, good, "NOT expected, unexpected [], [Stale]");
}

#[test]
fn a_race_is_the_cause_of_results_that_depend_on_timing() {
    let unsteady = |one: &mut Expectation| one.verdict = Some(VerdictKind::Nondeterministic);
    let raced = "reference=1 interpret@3.9.0=1 ptx@3.9.0:sm_90a=race";
    let other = "reference=1 interpret@3.9.0=1 ptx@3.9.0:sm_90a=2";
    let unexpected = "NOT expected, unexpected [ptx@3.9.0:sm_90a], [NotTried]";
    check_shared(&["cuda"], unsteady, raced, "expected, unexpected [], [Yes]");
    check_shared(&["cuda"], unsteady, other, unexpected);
    let executed = "reference=1 interpret@3.9.0=1 cuda@3.9.0=race";
    let stale = "NOT expected, unexpected [cuda@3.9.0], [Stale]";
    check_shared(&["cuda"], unsteady, executed, stale);
}

#[test]
fn a_fault_of_the_gpu_is_a_trap_of_its_code() {
    let fault = |message: &'static str| {
        move |one: &mut Expectation| {
            one.outcome = Some(OutcomeKind::Trapped);
            one.message = Some(message.to_owned());
        }
    };
    let line = "reference=1 interpret@3.9.0=1 ptx@3.9.0:sm_90a=misaligned";
    let unexpected = "NOT expected, unexpected [ptx@3.9.0:sm_90a], [NotTried]";
    let named = fault("CUDA_ERROR_MISALIGNED_ADDRESS");
    check_shared(&["cuda"], named, line, "expected, unexpected [], [Yes]");
    let raced = "reference=1 interpret@3.9.0=1 ptx@3.9.0:sm_90a=race";
    check_shared(&["cuda"], named, raced, unexpected);
    check_shared(&["cuda"], fault("launch_pdl"), line, unexpected);
    let finished = "reference=1 interpret@3.9.0=1 ptx@3.9.0:sm_90a=2";
    check_shared(&["cuda"], named, finished, unexpected);
}

#[test]
fn an_expectation_of_the_executed_code_for_hopper_goes_first() {
    let own = build_expectation("ptx:sm_90a", "*", Some(VerdictKind::Differ));
    let rejects = Expectation {
        outcome: Some(OutcomeKind::Rejected),
        ..build_expectation("cuda", "*", Some(VerdictKind::Differ))
    };
    let line = "reference=1 interpret@3.9.0=1 ptx@3.9.0:sm_90a=2";
    assert_eq!(
        assess_line(line, &[rejects, own]),
        format!("{line}\n    expected, unexpected [], [NotTried, Yes]\n")
    );
}

#[test]
fn expectations_are_met_stale_or_not_tried() {
    let old_differs = build_expectation("interpret", "<3.3", Some(VerdictKind::Differ));
    let raises = Expectation {
        outcome: Some(OutcomeKind::Trapped),
        message: Some("TypeError".into()),
        ..old_differs.clone()
    };
    let undefined = build_expectation("reference", "*", Some(VerdictKind::Undefined));
    let mut lines = String::new();
    for line in [
        "reference=1 interpret@3.9.0=1",
        "reference=1 interpret@3.9.0=2",
        "reference=1 interpret@3.2.0=2",
        "reference=1 interpret@3.2.0=1",
        "reference=1 interpret@3.2.0=exhausted",
        "reference=1 interpret@3.1.0=2 interpret@3.2.0=1",
        "reference=1 interpret@3.2.0+host=2",
        "reference=undefined interpret@3.2.0=1",
    ] {
        lines += &assess_line(line, std::slice::from_ref(&old_differs));
    }
    lines += "\nwith an outcome and a message\n";
    for line in [
        "reference=1 interpret@3.2.0=TypeError",
        "reference=1 interpret@3.2.0=AssertionError",
        "reference=1 interpret@3.2.0=2",
        "reference=1 interpret@3.2.0=1",
    ] {
        lines += &assess_line(line, std::slice::from_ref(&raises));
    }
    lines += "\nthat an engine finishes, which says nothing about its bytes\n";
    let finishes = Expectation {
        outcome: Some(OutcomeKind::Finished),
        ..build_expectation("interpret", "*", None)
    };
    for line in [
        "reference=1 interpret@3.2.0=1",
        "reference=1 interpret@3.2.0=2",
        "reference=unsupported interpret@3.2.0=1",
        "reference=rejected interpret@3.2.0=1",
        "reference=unsupported interpret@3.2.0=1 cuda@3.9.0=rejected",
    ] {
        lines += &assess_line(line, std::slice::from_ref(&finishes));
    }
    lines += "\nsilence\n";
    let unsupported = Expectation {
        outcome: Some(OutcomeKind::Unsupported),
        ..build_expectation("reference", "*", None)
    };
    for line in [
        "reference=unsupported interpret@3.2.0=1",
        "reference=1 interpret@3.2.0=1",
        "reference=1 interpret@3.2.0=exhausted interpret@3.9.0=1",
        "reference=1 cuda@3.9.0=unavailable",
    ] {
        lines += &assess_line(line, std::slice::from_ref(&unsupported));
        lines += &assess_line(line, &[]);
    }
    lines += "\nengines that share their code\n";
    let of = |engine: &str, verdict| build_expectation(engine, "*", Some(verdict));
    let compiler = of("cuda", VerdictKind::Differ);
    let own = [compiler.clone(), of("jit", VerdictKind::Agree)];
    let interpreter = of("interpret", VerdictKind::Differ);
    for (line, expectations) in [
        ("reference=1 jit@3.6.0=2", std::slice::from_ref(&compiler)),
        ("reference=1 jit@3.6.0=1", std::slice::from_ref(&compiler)),
        ("reference=1 cuda@3.6.0=2 jit@3.6.0=1", &own),
        ("reference=1 cuda@3.6.0=2 jit@3.6.0=2", &own),
        (
            "reference=1 interpret@3.6.0+torch=2",
            std::slice::from_ref(&interpreter),
        ),
        (
            "reference=1 interpret@3.6.0+torch+host=2",
            std::slice::from_ref(&interpreter),
        ),
    ] {
        lines += &assess_line(line, expectations);
    }
    lines += "\nundefined\n";
    for line in [
        "reference=undefined interpret@3.2.0=1",
        "reference=1 interpret@3.2.0=1",
    ] {
        lines += &assess_line(line, std::slice::from_ref(&undefined));
        lines += &assess_line(line, &[]);
    }
    accept("expectations", &lines);
}

#[test]
fn each_engine_has_a_standing() {
    let (_, verdict) = judge_line("reference=1 interpret@3.2.0=2 interpret@3.9.0=1 cuda@3.9.0=unavailable");
    let standings: Vec<Standing> = verdict.standings.iter().map(|&(_, standing)| standing).collect();
    assert_eq!(
        standings,
        [
            Standing::Agrees,
            Standing::Differs,
            Standing::Agrees,
            Standing::Silent
        ]
    );
}

#[test]
fn a_case_without_memory_is_not_vacuous_when_it_only_imports() {
    let empty = || finish(Memory::new(&Storages::new(), Vec::new()), None);
    let (reference, other) = (empty(), empty());
    let id: EngineId = "interpret@3.9.0".parse().expect("an id");
    for has_launches in [false, true] {
        let bench = Bench {
            reference: Some(build_witness(
                &EngineId::Reference,
                &EngineId::Reference,
                &reference,
            )),
            other_witnesses: vec![build_witness(&id, &id, &other)],
            tolerance: &BitForBit,
            engine_facts: EngineFacts::default(),
        };
        let verdict = judge(&[bench], Facts { has_launches });
        assert_eq!(
            (verdict.kind, verdict.vacuous),
            (VerdictKind::Agree, has_launches)
        );
    }
}

#[test]
fn benches_judge_by_their_own_reference() {
    let (one, two) = (parse_outcome("1", true), parse_outcome("2", true));
    let (old, new): (EngineId, EngineId) = (
        "interpret@3.2.0".parse().expect("id"),
        "interpret@3.9.0".parse().expect("id"),
    );
    let check = |old_says: &str, new_says: &str, expected: &str| {
        let (old_says, new_says) = (parse_outcome(old_says, false), parse_outcome(new_says, false));
        let benches =
            [(&one, &old, &old_says), (&two, &new, &new_says)].map(|(reference, id, outcome)| Bench {
                reference: Some(build_witness(
                    &EngineId::Reference,
                    &EngineId::Reference,
                    reference,
                )),
                other_witnesses: vec![build_witness(id, id, outcome)],
                tolerance: &BitForBit,
                engine_facts: EngineFacts::default(),
            });
        assert_eq!(
            in_a_line(&judge(&benches, Facts { has_launches: true })),
            expected
        );
    };
    check("1", "2", "agree");
    check(
        "1",
        "1",
        "differ, blame interpret@3.9.0, unconfirmed, interpret@3.9.0 memory from reference",
    );
    check(
        "2",
        "2",
        "differ, blame interpret@3.2.0, unconfirmed, interpret@3.2.0 memory from reference",
    );
}

/// Rounding may give anything from 1 to 1.5.
struct Rounding;

impl Tolerance for Rounding {
    fn find_accepted(&self, _: StorageId, byte: usize) -> (usize, Accepted) {
        let accepted = Accepted::Within {
            dtype: DType::F32,
            low: 1.0,
            high: 1.5,
            infinities: [false; 2],
            nan: false,
        };
        (byte / 4 * 4, accepted)
    }
}

#[test]
fn without_the_reference_either_value_may_be_the_wrong_one() {
    let [one, two]: [EngineId; 2] = ["interpret@3.9.0", "cuda@3.9.0"].map(|id| id.parse().expect("an id"));
    let check = |left: &str, right: &str, expected: VerdictKind| {
        let [left, right] = [left, right].map(|word| parse_outcome(word, false));
        let bench = Bench {
            reference: None,
            other_witnesses: vec![
                build_witness(&one, &one, &left),
                build_witness(&two, &two, &right),
            ],
            tolerance: &Rounding,
            engine_facts: EngineFacts::default(),
        };
        let verdict = judge(&[bench], Facts { has_launches: true });
        assert_eq!(verdict.kind, expected, "{}", in_a_line(&verdict));
    };
    check("1", "1.25", VerdictKind::Agree);
    check("1.5", "1", VerdictKind::Agree);
    check("1", "2", VerdictKind::Differ);
    check("2", "1", VerdictKind::Differ);
}

#[test]
fn a_record_is_the_witness_that_its_engine_is() {
    let interpret: EngineId = "interpret@3.9.0".parse().expect("an id");
    let check = |origin: &str, expected: &str| {
        let origin: EngineId = origin.parse().expect("an id");
        let (reference, other) = (parse_outcome("1", true), parse_outcome("2", false));
        let said = |id, origin| build_witness(id, origin, &other);
        let bench = Bench {
            reference: Some(build_witness(
                &EngineId::Reference,
                &EngineId::Reference,
                &reference,
            )),
            other_witnesses: vec![said(&interpret, &interpret), said(&EngineId::Recorded, &origin)],
            tolerance: &BitForBit,
            engine_facts: EngineFacts::default(),
        };
        let verdict = judge(&[bench], Facts { has_launches: true });
        let blame: Vec<String> = verdict.blame.iter().map(ToString::to_string).collect();
        assert_eq!(blame.join(" "), expected, "{origin}");
    };
    // An interpreter and a record of an interpreter are one witness, and do not overrule the reference.
    check("interpret@3.6.0+host", "interpret@3.9.0 recorded");
    check("jit@3.6.0", "reference");
}
