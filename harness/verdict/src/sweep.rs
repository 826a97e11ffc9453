//! The trial of a sweep: one engine, one case, many variants that must all produce the same result.
//!
//! No oracle is needed: variants whose outcomes agree form a camp, and with more than one camp the case differs. The variants
//! outside the largest camp are the odd ones out; that is a majority, not a conviction. If the reference has an answer, the
//! verdict says which camp agrees with it. The reference is used in two more ways: bytes that it calls undefined are left out,
//! and elements with other bits agree if a conforming implementation may give both values, as the reference says
//! ([`Accepted`](cerith_accept::Accepted)). Without the reference, every bit counts.
//!
//! A variant whose own launches differ is in no camp; if the launches of the case as it is differ, the sweep is inconclusive. A
//! program without a defined answer is not judged.
//!
//! Known bugs explain a difference where they explain every variant in it that the reference disagrees with.
//!
//! Along each axis the case as it is and the variants of that axis have a verdict of their own. A case file's expectations with
//! an `axis` are about that verdict.
//!
//! See `cerith-case` for the variants, and `cerith-engine` for compiling and executing them.

use cerith_case::{Axis, Case, Expectation, Variant, VerdictKind};
use cerith_engine::{Engine, EngineId, Failure, Outcome, Reference, Trap, catch_panic};
use cerith_memory::Memory;
use cerith_tile::quirk::Quirks;
use cerith_tile::quirk::signature::BugSignature;
use cerith_tile::rules::Rules;

use crate::conforming::ByReference;
use crate::difference::{Bytes, Comparison, Tolerance, compare};
use crate::expectation::{Met, has_message};
use crate::explained;
use crate::panel::{Failed, Stopped, uses_of};
use crate::trial::Pair;
use crate::verdict::Kind;

/// One variant and what the engine did with it.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Which.
    pub variant: Variant,
    /// The outcome; its memory has the layout of the unchanged case.
    pub outcome: Outcome,
    /// Bytes between the elements of the variant's layout that were touched.
    pub touched: u64,
}

/// The results of a case's variants.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Variants that were executed, or ended before that. The case as it is comes first, if it is among them.
    pub samples: Vec<Sample>,
    /// Variants that are the same to the GPU as another one, each with that one.
    pub duplicates: Vec<(Variant, Variant)>,
    /// Variants that do not apply, each with the reason.
    pub not_applicable: Vec<(Variant, String)>,
}

/// Variants that agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Camp {
    /// The variants that agree.
    pub variants: Vec<Variant>,
    /// Whether the reference has the same result; `None` if it has no outcome.
    pub reference: Option<bool>,
}

/// A variant that differs from another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Unequal {
    /// One of the largest camp; the variant itself where its own launches differ.
    pub baseline: Variant,
    /// Who differs from it.
    pub variant: Variant,
    /// In what way.
    pub kind: Kind,
    /// The bytes, where both finished.
    pub comparison: Option<Comparison>,
    /// Known bugs that explain both, as far as the reference disagrees with them: models of computations.
    pub explained: Quirks,
    /// The same: a bug that is known by an error's words, or by the lanes that it exchanges.
    pub known_bug: Option<&'static BugSignature>,
}

/// The result of a sweep's trial.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepVerdict {
    /// In one word.
    pub kind: VerdictKind,
    /// Who agrees with whom, the largest camp first.
    pub camps: Vec<Camp>,
    /// The variants outside the largest camp.
    pub odd: Vec<Variant>,
    /// The verdict along every axis that has a variant that was tried.
    pub axes: Vec<(Axis, VerdictKind)>,
    /// Who differs from whom, one pair for each camp and for each variant that differs from itself.
    pub differences: Vec<Unequal>,
    /// The reason why it is undefined or inconclusive.
    pub reason: Option<String>,
    /// The bytes of all pairs, counted by result.
    pub bytes: Bytes,
}

/// A sweep's verdict compared with its case's expectations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepAssessment {
    /// Whether all is as written down.
    pub expected: bool,
    /// The axes with a difference that no expectation covers.
    pub unexpected: Vec<Axis>,
    /// Whether each expectation happened, in the case's order. Those that are not about sweeps are not tried.
    pub expectations: Vec<Met>,
}

/// All results of the sweep of one case.
#[derive(Clone, Debug)]
pub struct SweepTrial {
    /// The verdict.
    pub verdict: SweepVerdict,
    /// The verdict compared with the expectations.
    pub assessment: SweepAssessment,
    /// Cerith's own failures.
    pub failed: Vec<Failed>,
}

/// Judges the variants of a case that an engine ran, with the reference's help if it has an outcome. `vary` makes the case of a
/// variant, with the memory of the unchanged case.
pub fn try_sweep(
    case: &Case,
    engine: &EngineId,
    reference: Option<&Reference>,
    samples: &Samples,
    vary: &dyn Fn(Variant) -> Option<Case>,
) -> Result<SweepTrial, Stopped> {
    let rules = engine.version().map_or_else(Rules::default, Rules::from_version);
    let mut failed = Vec::new();
    let mut fail = |message: String| {
        failed.push(Failed {
            engine: EngineId::Reference,
            message,
        });
    };
    let outcome = match reference.map(|reference| catch_panic(|| reference.run(case, rules))) {
        None => None,
        Some(Ok(Ok(run))) => Some(run.outcome),
        Some(Ok(Err(Failure::Stopped))) => return Err(Stopped),
        Some(Ok(Err(failure))) => {
            fail(format!("failed to {failure}"));
            None
        }
        Some(Err(panic)) => {
            fail(panic);
            None
        }
    };
    let asked = reference
        .filter(|_| outcome.is_some())
        .map(|reference| (reference, vec![rules]));
    let tolerance = ByReference::new(asked, case, None);
    let mut verdict = judge_sweep(samples, outcome.as_ref(), &tolerance);
    if let (Some(reference), Some(outcome)) = (reference, &outcome) {
        let causes = Causes {
            engine,
            rules,
            reference,
            outcome,
            vary,
        };
        causes.note(samples, &mut verdict);
    }
    if let Some(error) = tolerance.failure() {
        fail(error.to_string());
    }
    let assessment = assess_sweep(&verdict, samples, engine, rules, &case.expectations);
    Ok(SweepTrial {
        verdict,
        assessment,
        failed,
    })
}

/// The inputs of the search for known bugs that explain differences.
struct Causes<'a> {
    engine: &'a EngineId,
    rules: Rules,
    reference: &'a Reference,
    outcome: &'a Outcome,
    vary: &'a dyn Fn(Variant) -> Option<Case>,
}

impl Causes<'_> {
    /// Notes the known bugs that explain a difference: of each of the two that the reference disagrees with.
    fn note(&self, samples: &Samples, verdict: &mut SweepVerdict) {
        let camps = &verdict.camps;
        for difference in &mut verdict.differences {
            let sides = [difference.baseline, difference.variant].map(|variant| {
                let camp = camps.iter().find(|camp| camp.variants.contains(&variant))?;
                if camp.reference? {
                    return Some((Quirks::NONE, None));
                }
                let sample = samples.samples.iter().find(|sample| sample.variant == variant)?;
                self.explain(sample)
            });
            if let [Some((one, told)), Some((other, also_told))] = sides {
                difference.explained = one.union(other);
                difference.known_bug = told.or(also_told);
            }
        }
    }

    /// The known bugs by which a variant differs from the reference.
    fn explain(&self, sample: &Sample) -> Option<(Quirks, Option<&'static BugSignature>)> {
        let case = (self.vary)(sample.variant).filter(|_| sample.touched == 0)?;
        let (Some(left), Some(known)) = (sample.outcome.finished(), self.outcome.finished()) else {
            let uses = uses_of(&case, self.reference, self.rules);
            let told = explained::find_known_bug(self.engine, &sample.outcome, self.outcome, &uses)?;
            return Some((Quirks::NONE, Some(told)));
        };
        let tolerance = ByReference::new(Some((self.reference, vec![self.rules])), &case, None);
        let differing = compare(&known.memory, &left.memory, Some(&known.memory), &tolerance);
        let sides = (left, &known.memory);
        let (quirks, told) = explained::explain(&case, self.reference, self.engine, sides, Some(&differing));
        (!quirks.is_empty() || told.is_some()).then_some((quirks, told))
    }
}

struct Judge<'a> {
    /// The reference's contents.
    reference_memory: Option<&'a Memory>,
    tolerance: &'a dyn Tolerance,
    bytes: Bytes,
}

/// Judges the variants of a case. `reference` is what the reference did with the case as it is.
pub fn judge_sweep(
    samples: &Samples,
    reference: Option<&Outcome>,
    tolerance: &dyn Tolerance,
) -> SweepVerdict {
    let mut verdict = SweepVerdict {
        kind: VerdictKind::Inconclusive,
        camps: Vec::new(),
        odd: Vec::new(),
        axes: Vec::new(),
        differences: Vec::new(),
        reason: None,
        bytes: Bytes::default(),
    };
    if let Some(Outcome::Trapped(Trap::Undefined, complaint)) = reference {
        verdict.kind = VerdictKind::Undefined;
        verdict.reason = Some(complaint.message.clone());
        return verdict;
    }
    let finished = reference.and_then(Outcome::finished);
    let mut judge = Judge {
        reference_memory: finished.map(|finished| &finished.memory),
        tolerance,
        bytes: Bytes::default(),
    };
    let mut camps: Vec<Vec<&Sample>> = Vec::new();
    let (mut unsteady, mut unknown) = (Vec::new(), Vec::new());
    for sample in &samples.samples {
        match judge.compare_launches(sample) {
            Pair::Same => {}
            Pair::Unknown(why, _) => {
                unknown.push((sample.variant, why));
                continue;
            }
            Pair::Different(kind, comparison) => {
                unsteady.push(sample.variant);
                verdict.differences.push(Unequal {
                    baseline: sample.variant,
                    variant: sample.variant,
                    kind,
                    comparison,
                    explained: Quirks::NONE,
                    known_bug: None,
                });
                continue;
            }
        }
        let mut unclear = None;
        let home = camps.iter().position(|camp| {
            camp.first()
                .is_some_and(|first| match judge.compare_samples(first, sample) {
                    Pair::Same => true,
                    Pair::Unknown(why, _) => {
                        unclear.get_or_insert(why);
                        false
                    }
                    Pair::Different(..) => false,
                })
        });
        match (home.and_then(|at| camps.get_mut(at)), unclear) {
            (Some(camp), _) => camp.push(sample),
            (None, Some(why)) => unknown.push((sample.variant, why)),
            (None, None) => camps.push(vec![sample]),
        }
    }
    // The first of equals stays first: the one with the case as it is.
    camps.sort_by_key(|camp| std::cmp::Reverse(camp.len()));
    if let Some((largest, others)) = camps.split_first()
        && let Some(baseline) = largest.first()
    {
        for other in others.iter().filter_map(|camp| camp.first()) {
            if let Pair::Different(kind, comparison) = judge.compare_samples(baseline, other) {
                verdict.differences.push(Unequal {
                    baseline: baseline.variant,
                    variant: other.variant,
                    kind,
                    comparison,
                    explained: Quirks::NONE,
                    known_bug: None,
                });
            }
        }
    }
    verdict.bytes = judge.bytes;
    verdict.camps = camps
        .iter()
        .map(|camp| Camp {
            variants: with_same(camp.iter().map(|sample| sample.variant), samples),
            reference: judge.compare_reference(camp.first().copied(), reference),
        })
        .collect();
    verdict.odd = verdict
        .camps
        .iter()
        .skip(1)
        .flat_map(|camp| camp.variants.clone())
        .collect();
    let unsteady = with_same(unsteady.into_iter(), samples);
    let uncertain = with_same(unknown.iter().map(|(variant, _)| *variant), samples);
    verdict.axes = along_axes(&verdict.camps, &unsteady, &uncertain);
    let why = unknown.first().map(|(_, why)| why.clone());
    (verdict.kind, verdict.reason) = conclude_verdict(samples, &verdict.camps, &unsteady, why);
    if verdict.kind == VerdictKind::Inconclusive {
        verdict.differences.clear();
    }
    verdict
}

/// The verdict in one word, and why. `why` is the first reason for which a variant could not be compared.
fn conclude_verdict(
    samples: &Samples,
    camps: &[Camp],
    unsteady: &[Variant],
    why: Option<String>,
) -> (VerdictKind, Option<String>) {
    if camps.len() > 1 {
        (VerdictKind::Differ, why)
    } else if unsteady.contains(&Variant::AsIs) {
        let why = "the case as it is does not produce the same result twice, which `cerith run` judges";
        (VerdictKind::Inconclusive, Some(why.to_owned()))
    } else if !unsteady.is_empty() {
        (VerdictKind::Nondeterministic, why)
    } else if why.is_some() {
        (VerdictKind::Inconclusive, why)
    } else if camps.first().is_none_or(|camp| camp.variants.len() < 2) {
        let why = match samples
            .not_applicable
            .iter()
            .find(|(variant, _)| *variant == Variant::AsIs)
        {
            Some((_, why)) => why.clone(),
            None => "none of its variants applies".to_owned(),
        };
        (VerdictKind::Inconclusive, Some(why))
    } else {
        (VerdictKind::Agree, None)
    }
}

/// Variants, each followed by those with the same machine code.
fn with_same(variants: impl Iterator<Item = Variant>, samples: &Samples) -> Vec<Variant> {
    let mut all: Vec<Variant> = variants.collect();
    let same = samples.duplicates.iter().filter(|(_, other)| all.contains(other));
    let same: Vec<Variant> = same.map(|(variant, _)| *variant).collect();
    all.extend(same);
    all
}

/// The verdict of the case as it is with the variants of each axis.
fn along_axes(camps: &[Camp], unsteady: &[Variant], uncertain: &[Variant]) -> Vec<(Axis, VerdictKind)> {
    let steady = !unsteady.contains(&Variant::AsIs) && !uncertain.contains(&Variant::AsIs);
    let of = |axis, variant: &Variant| variant.axis() == Some(axis);
    let verdict = |axis| {
        let holds = |camp: &&Camp| {
            camp.variants
                .iter()
                .any(|one| *one == Variant::AsIs || of(axis, one))
        };
        let tried = camps
            .iter()
            .flat_map(|camp| &camp.variants)
            .chain(unsteady)
            .chain(uncertain)
            .any(|variant| of(axis, variant));
        let kind = if camps.iter().filter(holds).count() > 1 {
            VerdictKind::Differ
        } else if !steady || uncertain.iter().any(|variant| of(axis, variant)) {
            VerdictKind::Inconclusive
        } else if unsteady.iter().any(|variant| of(axis, variant)) {
            VerdictKind::Nondeterministic
        } else {
            VerdictKind::Agree
        };
        tried.then_some((axis, kind))
    };
    Axis::ALL.into_iter().filter_map(verdict).collect()
}

impl Judge<'_> {
    /// Whether a variant's own launches agree.
    fn compare_launches(&self, sample: &Sample) -> Pair {
        let Some(finished) = sample.outcome.finished() else {
            return Pair::Same;
        };
        Pair::of_launches(finished, self.reference_memory, self.tolerance)
    }

    fn compare_samples(&mut self, left: &Sample, right: &Sample) -> Pair {
        if left.touched != right.touched {
            return Pair::Different(Kind::Padding, None);
        }
        self.compare_outcomes(&left.outcome, &right.outcome)
    }

    fn compare_outcomes(&mut self, left: &Outcome, right: &Outcome) -> Pair {
        use Outcome::{Crashed, Exhausted, Finished, Rejected, Trapped};
        match (left, right) {
            (Finished(left), Finished(right)) => self.compare_memories(&left.memory, &right.memory),
            (Rejected(_), Rejected(_)) | (Crashed(_), Crashed(_)) | (Exhausted(_), Exhausted(_)) => {
                Pair::Same
            }
            (Trapped(left, one), Trapped(right, other)) => {
                let asserts = *left == Trap::Assert;
                if left == right && (asserts || one.kind == other.kind) {
                    Pair::Same
                } else {
                    Pair::Different(Kind::Trap, None)
                }
            }
            (Crashed(_), _) | (_, Crashed(_)) => Pair::Different(Kind::Crash, None),
            (Rejected(_), _) | (_, Rejected(_)) => Pair::Different(Kind::Acceptance, None),
            (Exhausted(_), _) | (_, Exhausted(_)) => Pair::Different(Kind::Time, None),
            _ => Pair::Different(Kind::Trap, None),
        }
    }

    fn compare_memories(&mut self, left: &Memory, right: &Memory) -> Pair {
        let comparison = compare(left, right, self.reference_memory, self.tolerance);
        self.bytes += comparison.bytes;
        Pair::from_comparison(
            comparison.both_ways(left, right, self.reference_memory, self.tolerance),
            self.tolerance,
        )
    }

    /// Whether the reference has a camp's result; `None` if unknown.
    fn compare_reference(&self, sample: Option<&Sample>, reference: Option<&Outcome>) -> Option<bool> {
        let (sample, reference) = (sample?, reference.filter(|reference| reference.speaks())?);
        let mut judge = Judge {
            bytes: Bytes::default(),
            ..*self
        };
        match judge.compare_outcomes(reference, &sample.outcome) {
            Pair::Same => Some(sample.touched == 0),
            Pair::Unknown(..) => None,
            // A compiler refuses, and raises, in its own words.
            Pair::Different(Kind::Trap | Kind::Acceptance, _)
                if reference.finished().is_none() && sample.outcome.finished().is_none() =>
            {
                None
            }
            Pair::Different(..) => Some(false),
        }
    }
}

/// Compares a sweep's verdict with expectations.
pub fn assess_sweep(
    verdict: &SweepVerdict,
    samples: &Samples,
    engine: &EngineId,
    rules: Rules,
    expectations: &[Expectation],
) -> SweepAssessment {
    let meant = |expectation: &&Expectation| {
        !expectation.axes.is_empty()
            && expectation.applies_among(expectations, &engine.to_string(), rules.version)
    };
    let happened = |expectation: &Expectation, axis: Axis, kind: VerdictKind| {
        let outcomes = samples
            .samples
            .iter()
            .filter(|sample| sample.variant.axis() == Some(axis))
            .map(|sample| &sample.outcome);
        let crashed = outcomes
            .clone()
            .any(|outcome| matches!(outcome, Outcome::Crashed(_)));
        expectation.axes.contains(&axis)
            && expectation.verdict.is_none_or(|wanted| wanted == kind)
            && expectation.outcome.map_or(!crashed, |wanted| {
                outcomes.clone().any(|outcome| outcome.kind() == wanted)
            })
            && expectation
                .message
                .as_ref()
                .is_none_or(|part| outcomes.clone().any(|outcome| has_message(outcome, part)))
    };
    let bad = |kind: VerdictKind| matches!(kind, VerdictKind::Differ | VerdictKind::Nondeterministic);
    let unexpected: Vec<Axis> = verdict
        .axes
        .iter()
        .filter(|&&(axis, kind)| {
            let mut foreseen = expectations.iter().filter(meant);
            bad(kind) && !foreseen.any(|one| happened(one, axis, kind))
        })
        .map(|&(axis, _)| axis)
        .collect();
    let met = |expectation: &Expectation| {
        let tried = || {
            let axes = verdict.axes.iter();
            axes.filter(|(axis, kind)| expectation.axes.contains(axis) && *kind != VerdictKind::Inconclusive)
        };
        if !meant(&expectation) || verdict.kind == VerdictKind::Undefined {
            Met::NotTried
        } else if verdict
            .axes
            .iter()
            .any(|&(axis, kind)| happened(expectation, axis, kind))
        {
            Met::Yes
        } else if tried().next().is_some() {
            Met::Stale
        } else {
            Met::NotTried
        }
    };
    let expectations: Vec<Met> = expectations.iter().map(met).collect();
    // A difference is always along some axis, unless the case as it is could not be had.
    let homeless = bad(verdict.kind) && !verdict.axes.iter().any(|&(_, kind)| bad(kind));
    SweepAssessment {
        expected: unexpected.is_empty() && !homeless && !expectations.contains(&Met::Stale),
        unexpected,
        expectations,
    }
}
