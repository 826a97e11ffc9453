//! The last event of a run: its verdicts in numbers, and the exit code.

use cerith_case::{OutcomeKind, VerdictKind};
use cerith_engine::STALE_RECORDING;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::Event;
use super::instructions::Instructions;
use super::skip::is_default;
use super::verdict::{Bytes, Judging, Verdict};
use super::word::Severity;

/// A run in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Cases judged.
    pub cases: u64,
    /// Cases in which all engines that answered agree.
    pub agree: u64,
    /// Cases in which some engine is wrong.
    pub differ: u64,
    /// Cases in which launches of one engine produce different results.
    #[serde(default, skip_serializing_if = "is_default")]
    pub nondeterministic: u64,
    /// Cases whose program has no defined answer.
    pub undefined: u64,
    /// Cases without a known culprit.
    pub inconclusive: u64,
    /// Cases with a difference, or an undefined program, that no expectation covers.
    pub unexpected: u64,
    /// Cases in which an engine had to answer and did not.
    #[serde(default, skip_serializing_if = "is_default")]
    pub silent: u64,
    /// Cases in which at most one engine answered.
    #[serde(default, skip_serializing_if = "is_default")]
    pub alone: u64,
    /// Whether the engines are the default ones.
    #[serde(default, skip_serializing_if = "is_default")]
    pub by_default: bool,
    /// Cases with an expectation that no longer happens.
    #[serde(default)]
    pub stale: u64,
    /// Cases whose trial compared nothing that the program computed.
    #[serde(default)]
    pub vacuous: u64,
    /// Cases that were not found to compute their reference functions.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unlike: u64,
    /// Cases in which the blame depends on the reference alone.
    #[serde(default)]
    pub unconfirmed: u64,
    /// Differences that known bugs explain, by the bugs' names. A difference that several bugs explain together counts for each.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub known: IndexMap<String, u64>,
    /// Differences that no known bug explains.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unexplained: u64,
    /// Recorded outcomes that were not used, because they are of a different kernel or layout.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stale_recordings: u64,
    /// Cases in which the reference is to blame: our own bug.
    #[serde(default)]
    pub reference_blamed: u64,
    /// The bytes of all pairs of outcomes in all cases, counted by result.
    #[serde(default)]
    pub bytes: Bytes,
    /// Cases with bytes that were not compared because they have no defined value, though something else was.
    #[serde(default, skip_serializing_if = "is_default")]
    pub left_out: u64,
    /// The number of these cases in which a whole tensor was not compared.
    #[serde(default, skip_serializing_if = "is_default")]
    pub left_out_whole: u64,
    /// Cases that are not as expected, as in the baseline. They do not fail the run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub in_baseline: u64,
    /// Cases in which a difference from the baseline is fixed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mended: u64,
    /// Cases that were not judged because the run had failed often enough.
    #[serde(default, skip_serializing_if = "is_default")]
    pub not_run: u64,
    /// Errors in the input.
    #[serde(default)]
    pub problems: u64,
    /// Failures of Cerith itself.
    #[serde(default)]
    pub internal: u64,
    /// Failures to write the stream or a report.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unwritten: u64,
    /// Wall-clock seconds of the run.
    pub seconds: f64,
    /// The time spent outside of engines, over all cases.
    #[serde(default, skip_serializing_if = "Judging::is_nothing")]
    pub judging: Judging,
    /// The number of variants, for a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variants: Option<Variants>,
    /// How often each engine did what; in a sweep, each variant.
    #[serde(default)]
    pub engines: IndexMap<String, Tally>,
    /// Whether the run was interrupted: the cases that are missing were not judged.
    #[serde(default, skip_serializing_if = "is_default")]
    pub interrupted: bool,
    /// The exit code of the run.
    #[serde(default)]
    pub exit: u8,
    /// The evidence that all lines before the summary are present. [`crate::Writer`] sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<Seal>,
}

/// The lines of a run from its start to the one before its summary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// How many there are. Empty lines do not count.
    pub lines: u64,
    /// The BLAKE3 hash of the lines, each with a line feed, in hexadecimal.
    pub hash: String,
}

/// How many variants a sweep had, including the cases as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variants {
    /// Variants with an outcome of their own.
    pub tried: u64,
    /// Variants with the same machine code as another one.
    pub same: u64,
    /// Variants that do not apply, by axis.
    #[serde(default)]
    pub not_applicable: IndexMap<String, u64>,
}

/// The outcomes of one engine in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// How often it had each outcome.
    pub outcomes: IndexMap<String, u64>,
    /// In how many cases it is to blame.
    pub blamed: u64,
    /// Seconds it took in all.
    pub seconds: f64,
    /// The kinds of instructions that it executed here (`ptx`).
    #[serde(default, skip_serializing_if = "Instructions::is_empty")]
    pub instructions: Instructions,
}

impl Summary {
    /// Counts one event.
    pub fn count(&mut self, event: &Event) {
        match event {
            Event::Problem(problem) => self.problems += u64::from(problem.severity == Severity::Error),
            Event::Internal(_) => self.internal += 1,
            Event::Verdict(verdict) => self.count_verdict(verdict),
            Event::Sweep(verdict) => {
                self.count_verdict(verdict);
                self.count_variants(verdict);
            }
            // In a sweep variants are counted in place of engines.
            Event::Start(start) if !start.axes.is_empty() => {
                self.variants.get_or_insert_default();
            }
            Event::Start(start) => {
                self.by_default = start.by_default;
                for engine in &start.engines {
                    self.engines.entry(engine.clone()).or_default();
                }
            }
            Event::Summary(_) => {}
        }
    }

    fn count_verdict(&mut self, verdict: &Verdict) {
        self.cases += 1;
        self.judging += verdict.judging;
        match verdict.verdict {
            VerdictKind::Agree => self.agree += 1,
            VerdictKind::Differ => self.differ += 1,
            VerdictKind::Nondeterministic => self.nondeterministic += 1,
            VerdictKind::Undefined => self.undefined += 1,
            VerdictKind::Inconclusive => self.inconclusive += 1,
        }
        self.stale_recordings += verdict
            .outcomes
            .values()
            .filter(|outcome| outcome.error == STALE_RECORDING)
            .count() as u64;
        self.alone += u64::from(verdict.speakers() < 2);
        self.mended += u64::from(
            verdict
                .against
                .as_ref()
                .is_some_and(|against| !against.mended.is_empty()),
        );
        if verdict.is_in_baseline() {
            self.in_baseline += 1;
        } else {
            self.unexpected += u64::from(!verdict.unexpected.is_empty());
            self.silent += u64::from(!verdict.silent.is_empty());
            self.stale += u64::from(verdict.has_stale());
            self.vacuous += u64::from(verdict.vacuous);
            self.unlike += u64::from(verdict.is_unlike());
        }
        self.bytes.compared += verdict.bytes.compared;
        self.bytes.accepted += verdict.bytes.accepted;
        self.bytes.undecided += verdict.bytes.undecided;
        self.bytes.undefined += verdict.bytes.undefined;
        self.left_out += u64::from(verdict.hides());
        let whole = verdict.left_out.iter().any(|one| !one.whole.is_empty());
        self.left_out_whole += u64::from(verdict.hides() && whole);
        self.unconfirmed += u64::from(verdict.unconfirmed);
        for difference in &verdict.differences {
            self.unexplained += u64::from(difference.explained.is_empty());
            for name in &difference.explained {
                *self.known.entry(name.clone()).or_default() += 1;
            }
        }
        self.reference_blamed += u64::from(verdict.blame.iter().any(|id| id == "reference"));
        for engine in &verdict.engines {
            let word = verdict
                .outcomes
                .get(engine)
                .map_or(OutcomeKind::Finished, |outcome| outcome.outcome);
            let tally = self.engines.entry(engine.clone()).or_default();
            *tally.outcomes.entry(word.name().to_owned()).or_default() += 1;
            tally.blamed += u64::from(verdict.blame.contains(engine));
            tally.seconds += verdict.seconds.get(engine).copied().unwrap_or(0.0);
            if let Some(instructions) = verdict.instructions.get(engine) {
                tally.instructions.add(instructions);
            }
        }
    }

    fn count_variants(&mut self, verdict: &Verdict) {
        let counts = self.variants.get_or_insert_default();
        counts.tried += verdict.engines.len() as u64;
        let Some(sweep) = &verdict.sweep else { return };
        counts.same += sweep.same.len() as u64;
        for variant in sweep.not_applicable.keys() {
            let axis = variant.split('=').next().unwrap_or_default();
            *counts.not_applicable.entry(axis.to_owned()).or_default() += 1;
        }
    }

    /// Whether engines ran and nothing at all was compared. A run of the reference alone compares nothing on purpose.
    pub fn compared_nothing(&self) -> bool {
        let others = self.engines.keys().any(|id| id != "reference");
        others && self.cases > 0 && self.inconclusive == self.cases && !self.bytes.any_looked_at()
    }

    /// Whether the engines are the default ones, and no second engine has an outcome. A user who names the reference alone
    /// wants no second engine.
    pub const fn has_no_second_engine(&self) -> bool {
        self.by_default && self.cases > 0 && self.alone == self.cases
    }

    /// The known bugs that explain differences, with how many: those that explain most first.
    pub fn known_by_count(&self) -> Vec<(&str, u64)> {
        let mut known: Vec<_> = self
            .known
            .iter()
            .map(|(name, &count)| (name.as_str(), count))
            .collect();
        known.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
        known
    }

    /// How many cases the gate does not let through, over all reasons.
    pub fn failures(&self) -> u64 {
        self.unexpected + self.silent + self.stale + self.vacuous + self.unlike + self.internal
    }

    /// The exit code for these numbers: 130 interrupted, 2 bad input or no room for the reports, 1 not as expected, 3 nothing was
    /// run or compared.
    pub fn exit_code(&self) -> u8 {
        if self.interrupted {
            130
        } else if self.problems + self.unwritten > 0 {
            2
        } else if self.failures() > 0 || (self.compared_nothing() && !self.has_no_second_engine()) {
            1
        } else if self.cases == 0 || self.has_no_second_engine() {
            3
        } else {
            0
        }
    }
}
