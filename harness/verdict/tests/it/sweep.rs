//! Variants that agree and variants that do not: outcomes in, one line out.

use std::fmt::Write as _;

use cerith_accept::Accepted;
use cerith_case::{Axis, EnginePattern, Expectation, OutcomeKind, Variant, VerdictKind};
use cerith_engine::{Complaint, EngineId, Finished, Outcome, Tracked, Trap};
use cerith_memory::{ByteState, Memory, NamedTensor, StorageId, Storages, Tensor};
use cerith_tile::DType;
use cerith_tile::quirk::Quirks;
use cerith_tile::rules::{Rules, Version};
use cerith_tile::source::Span;
use cerith_verdict::{BitForBit, Sample, Samples, SweepVerdict, Tolerance, assess_sweep, judge_sweep};

/// One storage of two f32, seen as `x`.
fn build_memory(value: f32) -> Memory {
    let mut storages = Storages::new();
    let id = storages.add("x", 8).expect("small");
    assert!(storages.write(id, 0, &value.to_le_bytes()));
    assert!(storages.write(id, 4, &1.0_f32.to_le_bytes()));
    let tensor = Tensor::new_contiguous(id, DType::F32, &[2]);
    Memory::new(
        &storages,
        vec![NamedTensor {
            name: "x".to_owned(),
            tensor,
        }],
    )
}

fn parse_outcome(word: &str, reference: bool) -> Outcome {
    let complaint = |kind: &str| Box::new(Complaint::new(kind, format!("{word} it was")));
    let finish = |memory, unsteady, order_dependent| {
        let tracked = reference.then_some(Tracked {
            stored: 8,
            poisoned: 0,
            vacuous: false,
            order_dependent,
            ..Tracked::default()
        });
        Outcome::Finished(Box::new(Finished {
            memory,
            tracked,
            unsteady,
            printed: Vec::new(),
            remark: None,
            execution: None,
        }))
    };
    match word {
        "rejected" => Outcome::Rejected(complaint("CompilationError")),
        "crashed" => Outcome::Crashed(complaint("crash")),
        "late" => Outcome::Exhausted(complaint("time")),
        "undefined" => Outcome::Trapped(Trap::Undefined, complaint("out-of-bounds")),
        "unsupported" => Outcome::Unsupported(complaint("unsupported")),
        "assert" => Outcome::Trapped(Trap::Assert, complaint("CUDA_ERROR_ASSERT")),
        "fault" | "misaligned" => Outcome::Trapped(Trap::Raised, complaint(word)),
        "racy" => finish(build_memory(1.0), None, true),
        "unsteady" => finish(build_memory(1.0), Some(Box::new(build_memory(2.0))), false),
        "poison" => {
            let mut memory = build_memory(1.0);
            memory.parts_mut(StorageId(0)).1[..4].fill(ByteState::Poison);
            finish(memory, None, false)
        }
        number => finish(build_memory(number.parse().expect(number)), None, false),
    }
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

/// A tolerance that decides nothing.
struct Undecided;

impl Tolerance for Undecided {
    fn find_accepted(&self, _: StorageId, byte: usize) -> (usize, Accepted) {
        (byte, Accepted::Unknown)
    }
}

/// `as-is:1 num_warps=8:2 num_warps=4~as-is layout=offset!reason config=0:1+touched`.
fn parse_samples(line: &str) -> Samples {
    let mut samples = Samples::default();
    let variant = |text: &str| text.parse::<Variant>().expect(text);
    for part in line.split_whitespace() {
        if let Some((one, other)) = part.split_once('~') {
            samples.duplicates.push((variant(one), variant(other)));
        } else if let Some((one, why)) = part.split_once('!') {
            samples.not_applicable.push((variant(one), why.to_owned()));
        } else {
            let (one, word) = part.split_once(':').expect(part);
            let (word, touched) = word
                .split_once("+touched")
                .map_or((word, 0), |(word, _)| (word, 3));
            samples.samples.push(Sample {
                variant: variant(one),
                outcome: parse_outcome(word, false),
                touched,
            });
        }
    }
    samples
}

/// `reference | variants`; `-` for no reference.
fn judge_line(line: &str, tolerance: &dyn Tolerance) -> (Samples, SweepVerdict) {
    let (reference, variants) = line.split_once('|').expect(line);
    let samples = parse_samples(variants);
    let reference = Some(reference.trim()).filter(|word| *word != "-");
    let reference = reference.map(|word| parse_outcome(word, true));
    let verdict = judge_sweep(&samples, reference.as_ref(), tolerance);
    (samples, verdict)
}

fn in_a_line(verdict: &SweepVerdict) -> String {
    let mut text = verdict.kind.to_string();
    for camp in &verdict.camps {
        let names: Vec<String> = camp.variants.iter().map(ToString::to_string).collect();
        let sides = match camp.reference {
            Some(true) => " =reference",
            Some(false) => " !reference",
            None => "",
        };
        let _ = write!(text, " [{}{sides}]", names.join(" "));
    }
    for (axis, kind) in &verdict.axes {
        let _ = write!(text, " {axis}:{kind}");
    }
    for difference in &verdict.differences {
        let _ = write!(
            text,
            " {}/{}:{}",
            difference.baseline,
            difference.variant,
            difference.kind.name()
        );
    }
    if verdict.bytes.accepted > 0 {
        let _ = write!(text, " accepted {}", verdict.bytes.accepted);
    }
    if let Some(reason) = &verdict.reason {
        let _ = write!(text, " ({reason})");
    }
    text
}

fn accept(name: &str, text: &str) {
    insta::with_settings!({
        snapshot_path => "../../../../snapshots/verdict",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn the_smaller_camp_is_the_odd_one_out() {
    let table: &[(&str, &dyn Tolerance)] = &[
        // All alike, whatever they do.
        ("1 | as-is:1 num_warps=1:1 num_warps=8:1", &BitForBit),
        ("- | as-is:2 num_stages=2:2", &BitForBit),
        ("1 | as-is:rejected num_warps=1:rejected", &BitForBit),
        ("1 | as-is:fault num_warps=1:fault", &BitForBit),
        // Not alike.
        ("1 | as-is:1 num_warps=1:1 num_warps=8:2", &BitForBit),
        ("2 | as-is:1 num_stages=1:2 num_stages=2:1", &BitForBit),
        ("- | as-is:1 num_stages=1:2 num_stages=2:1", &BitForBit),
        (
            "1 | as-is:1 num_stages=1:2 num_stages=2:3 num_warps=1:1",
            &BitForBit,
        ),
        ("1 | as-is:2 num_warps=1:1 num_stages=1:1", &BitForBit),
        ("1 | as-is:1 num_ctas=2:rejected", &BitForBit),
        ("1 | as-is:1 num_ctas=2:crashed", &BitForBit),
        ("1 | as-is:1 num_ctas=2:fault num_warps=1:misaligned", &BitForBit),
        ("1 | as-is:1 num_warps=1:late", &BitForBit),
        ("assert | as-is:assert num_warps=1:1", &BitForBit),
        ("1 | as-is:1 layout=padded:1+touched", &BitForBit),
        // Rounding: both values must be within the bounds, in any order.
        ("1 | as-is:1 enable_fp_fusion=false:1.25", &Rounding),
        ("1 | as-is:1.25 enable_fp_fusion=false:1.5", &Rounding),
        ("1 | as-is:1.25 enable_fp_fusion=false:2", &Rounding),
        ("1 | as-is:2 enable_fp_fusion=false:1.25", &Rounding),
        ("1 | as-is:1 enable_fp_fusion=false:2", &Undecided),
        ("1 | as-is:NaN num_warps=1:NaN", &BitForBit),
        // Undefined values are not compared, and results without an order are not reported.
        ("poison | as-is:1 num_warps=1:2", &BitForBit),
        ("racy | as-is:1 num_warps=1:2", &BitForBit),
        ("undefined | as-is:1 num_warps=1:2", &BitForBit),
        ("unsupported | as-is:1 num_warps=1:2", &BitForBit),
        // Not the same twice.
        ("1 | as-is:1 num_warps=1:unsteady num_stages=1:1", &BitForBit),
        ("1 | as-is:unsteady num_warps=1:1", &BitForBit),
        // The same machine code, and what does not apply.
        (
            "1 | as-is:1 num_stages=1~as-is num_warps=8:2 num_warps=4~as-is",
            &BitForBit,
        ),
        ("1 | as-is:1 num_stages=1~as-is num_warps=8!no", &BitForBit),
        ("1 | as-is:1 num_warps=8!no", &BitForBit),
        ("1 | as-is!large num_warps=8:1 num_warps=1:2", &BitForBit),
        ("1 | as-is!large num_warps=8:1", &BitForBit),
        ("1 | ", &BitForBit),
    ];
    let mut lines = String::new();
    for (line, tolerance) in table {
        let _ = writeln!(
            lines,
            "{line}\n    {}",
            in_a_line(&judge_line(line, *tolerance).1)
        );
    }
    accept("sweep_camps", &lines);
}

fn build_expectation(
    axes: &[Axis],
    verdict: Option<VerdictKind>,
    outcome: Option<OutcomeKind>,
) -> Expectation {
    Expectation {
        engines: vec![EnginePattern::parse("cuda").expect("an engine")],
        versions: ">=3.6".parse().expect("versions"),
        axes: axes.to_vec(),
        verdict,
        outcome,
        message: None,
        quirks: Quirks::NONE,
        reason: "because".to_owned(),
        link: None,
        span: Span::default(),
    }
}

#[test]
fn an_expectation_of_an_axis_is_met_or_stale() {
    let differ = Some(VerdictKind::Differ);
    let stages = build_expectation(&[Axis::NumStages], differ, None);
    let either = build_expectation(&[Axis::NumStages, Axis::NumWarps], differ, None);
    let rejected = build_expectation(&[Axis::NumCtas], None, Some(OutcomeKind::Rejected));
    let crashes = build_expectation(&[Axis::NumCtas], None, Some(OutcomeKind::Crashed));
    let careless = build_expectation(&[Axis::NumCtas], differ, None);
    let elsewhere = build_expectation(&[], differ, None);
    let told = Expectation {
        message: Some("crashed it".to_owned()),
        ..crashes.clone()
    };
    let table: &[(&str, &str, &Expectation)] = &[
        ("cuda@3.9.0", "1 | as-is:1 num_stages=1:2", &stages),
        ("cuda@3.9.0", "1 | as-is:1 num_stages=1:1", &stages),
        ("cuda@3.9.0", "1 | as-is:1 num_stages=1~as-is", &stages),
        ("cuda@3.9.0", "1 | as-is:1 num_warps=1:1", &stages),
        ("cuda@3.9.0", "1 | as-is:1 num_warps=1:2", &stages),
        ("cuda@3.9.0", "1 | as-is:2 num_warps=1:1 num_stages=1:1", &stages),
        ("cuda@3.9.0", "1 | as-is:2 num_warps=1:1 num_stages=1:1", &either),
        ("cuda@3.3.1", "1 | as-is:1 num_stages=1:2", &stages),
        ("cuda@3.3.1", "1 | as-is:1 num_stages=1:1", &stages),
        ("cuda@3.9.0", "1 | as-is:1 num_stages=1:2", &elsewhere),
        ("cuda@3.9.0", "1 | as-is:1 num_stages=1:1", &elsewhere),
        ("cuda@3.9.0", "1 | as-is:1 num_ctas=2:rejected", &rejected),
        ("cuda@3.9.0", "1 | as-is:1 num_ctas=2:crashed", &crashes),
        ("cuda@3.9.0", "1 | as-is:1 num_ctas=2:crashed", &careless),
        ("cuda@3.9.0", "1 | as-is:1 num_ctas=2:crashed", &told),
        ("cuda@3.9.0", "1 | as-is:1 num_ctas=2:fault", &told),
        ("cuda@3.9.0", "1 | as-is:1 num_ctas=2!no", &crashes),
        ("cuda@3.9.0", "undefined | as-is:1 num_stages=1:1", &stages),
        ("cuda@3.9.0", "1 | as-is:unsteady num_stages=1:1", &stages),
        (
            "cuda@3.9.0",
            "1 | as-is!large num_warps=8:1 num_warps=1:2",
            &stages,
        ),
    ];
    let mut lines = String::new();
    for (engine, line, expectation) in table {
        let (samples, verdict) = judge_line(line, &BitForBit);
        let id: EngineId = engine.parse().expect(engine);
        let rules = Rules::from_version(id.version().unwrap_or(Version::NEWEST));
        let expectations = [(*expectation).clone()];
        let assessment = assess_sweep(&verdict, &samples, &id, rules, &expectations);
        let unexpected: Vec<&str> = assessment.unexpected.iter().map(|axis| axis.name()).collect();
        let _ = writeln!(
            lines,
            "{engine} {line} / {expectation}\n    {}, unexpected [{}], {:?}",
            if assessment.expected {
                "expected"
            } else {
                "NOT expected"
            },
            unexpected.join(" "),
            assessment.expectations
        );
    }
    accept("sweep_expectations", &lines);
}
