//! Events of judged cases: the verdict, the outcomes of engines, and how they differ.

use cerith_case::{OutcomeKind, VerdictKind};
use cerith_engine::CompilerStage;
use cerith_verdict::{Kind, stage};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::compiled::Compiled;
use super::exhibit::Exhibit;
use super::instructions::Instructions;
use super::position::Position;
use super::skip::is_default;
use super::word::State;

/// One judged case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The case's id.
    pub case: String,
    /// The description of the case.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The engines that ran.
    pub engines: Vec<String>,
    /// The verdict.
    pub verdict: VerdictKind,
    /// The engines that are wrong.
    #[serde(default)]
    pub blame: Vec<String>,
    /// Whether all is as the case file says.
    pub expected: bool,
    /// Seconds that each engine took.
    #[serde(default)]
    pub seconds: IndexMap<String, f64>,
    /// The rest of the time.
    #[serde(default, skip_serializing_if = "Judging::is_nothing")]
    pub judging: Judging,
    /// Whether the blame depends on the reference alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unconfirmed: bool,
    /// The reason why the reference is blamed although no two independent engines agree against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspected: Option<String>,
    /// Further remarks on the witnesses, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Which stage of Triton's compiler is wrong, of the compiled engines among the blamed, where that was asked for
    /// (`cerith run --stages`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
    /// Whether the trial compared nothing that the program computed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vacuous: bool,
    /// The reason why it is undefined or inconclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The reference's warnings about a program with an answer; they do not change the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<Box<EngineOutcome>>,
    /// The outcome of each engine that did not simply finish.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub outcomes: IndexMap<String, EngineOutcome>,
    /// Who differs from whom.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// The engines that do not behave as the case file expects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unexpected: Vec<String>,
    /// The engines that had to answer and did not: they were asked for by name, their record is stale, or the kernel's file
    /// cannot be loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<String>,
    /// The engines in `unexpected` whose launches did not finish, although none is to blame for that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stopped: Vec<String>,
    /// The line at which launches stop in the reference, unless the case file expects that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stoppage: Option<Stoppage>,
    /// The expectations that apply to an engine of this run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Expectation>,
    /// Engines by whose rules the program has no defined answer, where it has one by those of others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_answer: Vec<String>,
    /// Language rules, one of which makes the case mean something else to some of the engines; each engine was judged
    /// by its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// The bytes of all pairs of outcomes, counted by result.
    #[serde(default)]
    pub bytes: Bytes,
    /// Bytes that were not compared because they have no defined value, storage by storage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Undefined>,
    /// The location of the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// How the case compares with its reference function, if its file names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<Box<LikeResult>>,
    /// How it compares with the run's baseline, where either has something that is not as expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Box<Against>>,
    /// Fields of sweeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Box<Sweep>>,
    /// The figures of compiled code, by engine, if a command requests them (`cerith bump --engine cuda`).
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub compiled: IndexMap<String, Compiled>,
    /// The kinds of instructions that engines with an executor of ours ran (`ptx`), by engine.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub instructions: IndexMap<String, Instructions>,
    /// The exhibit for reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exhibit: Option<Box<Exhibit>>,
}

/// The comparison of a case with its reference function, which blames no engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LikeResult {
    /// The function, as the case file names it.
    pub function: String,
    /// The result.
    pub verdict: LikeVerdict,
    /// The text for a reader.
    pub text: String,
}

/// The result of a comparison with a reference function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LikeVerdict {
    /// It was not requested, or the launches do not finish.
    NotCompared,
    /// The function could not be called.
    Failed,
    /// The kernel computes the function, within the bounds of its operations.
    Agree,
    /// The bounds do not decide.
    Undecided,
    /// The kernel rounds more than the contract permits.
    Inaccurate,
    /// The kernel computes something else.
    Wrong,
}

impl LikeVerdict {
    /// Its name in the stream.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotCompared => "not-compared",
            Self::Failed => "failed",
            Self::Agree => "agree",
            Self::Undecided => "undecided",
            Self::Inaccurate => "inaccurate",
            Self::Wrong => "wrong",
        }
    }

    /// Whether the kernel was not found to compute the function, although that was asked for.
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::Agree | Self::NotCompared)
    }
}

/// The stage of Triton's compiler that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// The blamed engines whose code the compiler made.
    pub engines: Vec<String>,
    /// The first stage that may be wrong.
    pub first: CompilerStage,
    /// The first stage whose output is known to be wrong: `first` itself, unless stages between them have no
    /// outcome.
    pub last: CompilerStage,
    /// The wrong pass, by MLIR's name; several if the IR between them has no outcome; none below TTGIR.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<String>,
}

impl Stage {
    /// The place in the compiler in few words, to tell bugs apart by: `ttir TritonCombineOps`.
    pub fn place(&self) -> String {
        let mut place = self.first.to_string();
        if self.last != self.first {
            place = format!("{place} to {}", self.last);
        }
        for pass in &self.passes {
            place = format!("{place} {pass}");
        }
        place
    }
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let blamed = stage::Blamed {
            first: self.first,
            last: self.last,
        };
        write!(f, "what is wrong in {}: {blamed}", self.engines.join(", "))?;
        match self.passes.as_slice() {
            [] => Ok(()),
            [pass] => write!(f, ", in the pass {pass}"),
            several => write!(f, ", in one of the passes {}", several.join(", ")),
        }
    }
}

/// Seconds of a case that no engine took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Judging {
    /// Reading the case: its file, and what its storages hold.
    #[serde(default)]
    pub reading: f64,
    /// Comparing outcomes, bit by bit.
    #[serde(default)]
    pub comparing: f64,
    /// Running the reference again, as NumPy computes and with intervals, where bits differ.
    #[serde(default)]
    pub intervals: f64,
    /// Looking for known bugs that explain a difference.
    #[serde(default)]
    pub explaining: f64,
    /// Writing down what a report shows.
    #[serde(default)]
    pub showing: f64,
}

impl Judging {
    /// The parts, with a word for each.
    pub const fn parts(&self) -> [(&'static str, f64); 5] {
        [
            ("reading", self.reading),
            ("comparing", self.comparing),
            ("intervals", self.intervals),
            ("explaining", self.explaining),
            ("showing", self.showing),
        ]
    }

    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl std::ops::AddAssign for Judging {
    fn add_assign(&mut self, other: Self) {
        self.reading += other.reading;
        self.comparing += other.comparing;
        self.intervals += other.intervals;
        self.explaining += other.explaining;
        self.showing += other.showing;
    }
}

/// How a verdict compares with a baseline: what is not as expected, by parts ([`crate::baseline::collect_failures`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Against {
    /// As in the baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same: Vec<String>,
    /// Not in the baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new: Vec<String>,
    /// In the baseline, and no longer so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mended: Vec<String>,
}

/// The variants of a case. A variant is written `num_warps=8`; the case as it is, is written `as-is`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// Whose variants they are.
    pub engine: String,
    /// The variants outside the largest camp.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub odd: Vec<String>,
    /// Who agrees with whom, the largest camp first, where there is more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub camps: Vec<Camp>,
    /// The verdict along each axis that was tried.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub axes: IndexMap<String, String>,
    /// Variants that were not executed because they are the same machine code as another one on the same memory.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub same: IndexMap<String, String>,
    /// Variants that do not apply, and why.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub not_applicable: IndexMap<String, String>,
}

/// Variants that agree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Camp {
    /// The variants that agree.
    pub variants: Vec<String>,
    /// Whether the reference has the same contents; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<bool>,
}

/// The outcome of an engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineOutcome {
    /// The kind of outcome.
    pub outcome: OutcomeKind,
    /// The kind of error: a diagnostic's code or a Python exception's type.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// The message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The location in the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// The rendered diagnostic or the traceback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Which launch of the case it was, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<usize>,
    /// The storages that the error is about, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub storages: Vec<String>,
    /// The name that the kernel uses and nothing defines, if that is the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misspelling: Option<Misspelling>,
    /// The kernel's printed text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<String>,
}

/// A name that nothing defines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Misspelling {
    /// The name, with the module's if it is an attribute of one: `tl.sine`.
    pub name: String,
    /// A similar name in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<String>,
}

/// One engine that differs from another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The engine that it is compared with, usually the reference; the engine itself where its own launches differ.
    pub baseline: String,
    /// The engine that differs.
    pub engine: String,
    /// In what way.
    pub kind: Kind,
    /// How many elements differ.
    #[serde(default, skip_serializing_if = "is_default")]
    pub elements: u64,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<Element>,
    /// The known bugs that explain it, by name: with them, the reference produces the engine's bytes. There is none if the difference
    /// is new.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explained: Vec<String>,
}

/// One element with two values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Element {
    /// The storage's name.
    pub storage: String,
    /// First byte in the storage, or in the guard zone.
    pub byte: usize,
    /// `before` or `behind` for the guard zones around the storage.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub guard: String,
    /// The dtype that the bytes are seen as.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dtype: String,
    /// Which element of the storage it is, counted in that dtype.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// A tensor that shows it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tensor: String,
    /// The index into that tensor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<i64>,
    /// The baseline's value, then the engine's.
    pub values: [String; 2],
    /// Their bits, in hexadecimal.
    pub bits: [String; 2],
    /// Whether the byte is unwritten in the baseline.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unwritten: bool,
    /// The least and the greatest value that would have been accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<[String; 2]>,
}

/// Bytes by the result of their comparison. No byte of a pair counts twice; unwritten bytes do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// Bytes with a defined value that were judged equal or different.
    #[serde(default)]
    pub compared: u64,
    /// Bytes with other bits that a conforming implementation may give.
    #[serde(default, skip_serializing_if = "is_default")]
    pub accepted: u64,
    /// Bytes with other bits that may or may not be a conforming implementation's result.
    #[serde(default, skip_serializing_if = "is_default")]
    pub undecided: u64,
    /// Left out, because they have no defined value.
    #[serde(default, skip_serializing_if = "is_default")]
    pub undefined: u64,
}

impl Bytes {
    /// Whether any byte was compared, with any result.
    pub const fn any_looked_at(&self) -> bool {
        self.compared + self.accepted + self.undecided > 0
    }
}

/// The bytes of a storage that have no defined value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undefined {
    /// The storage's name.
    pub storage: String,
    /// How many bytes have no defined value.
    pub bytes: u64,
    /// The number of written bytes.
    pub of: u64,
    /// Tensors without a single defined value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub whole: Vec<String>,
}

/// A written-down exception, and whether it happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    /// The engines that it applies to.
    pub engines: Vec<String>,
    /// Their versions.
    pub versions: String,
    /// The axes of a sweep that it applies to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<String>,
    /// The verdict that it foresees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictKind>,
    /// The outcome that it foresees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeKind>,
    /// Why.
    pub why: String,
    /// A link for more information.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Whether it happened.
    pub state: State,
    /// The location of the expectation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
}

/// The outcome of a case whose launches stop in the reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stoppage {
    /// The outcome.
    pub outcome: OutcomeKind,
    /// The versions whose language gives it, as an expectation names them; empty if all do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub versions: String,
}

/// A rule of the language that only some of the engines have, and that changes what the case means.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Its name.
    pub rule: String,
    /// The version that it holds from.
    pub since: String,
    /// Its message.
    pub about: String,
}

impl Verdict {
    /// Whether an expectation of the case no longer happens.
    pub fn has_stale(&self) -> bool {
        self.expectations
            .iter()
            .any(|expectation| expectation.state == State::Stale)
    }

    /// Whether bytes of it were left out while others were judged, so that the verdict does not cover all that was written.
    pub fn hides(&self) -> bool {
        let judged = matches!(
            self.verdict,
            VerdictKind::Agree | VerdictKind::Inconclusive | VerdictKind::Differ
        );
        judged && !self.left_out.is_empty() && self.bytes.any_looked_at()
    }

    /// Whether the case was not found to compute its reference function.
    pub fn is_unlike(&self) -> bool {
        self.like.as_ref().is_some_and(|like| like.verdict.is_failure())
    }

    /// Whether it fails only because of its reference function, which no engine is to blame for.
    pub fn is_only_unlike(&self) -> bool {
        self.is_unlike()
            && self.silent.is_empty()
            && self.unexpected.is_empty()
            && !self.has_stale()
            && !self.vacuous
    }

    /// Whether it fails only because an engine gives no answer.
    pub fn is_only_silent(&self) -> bool {
        !self.silent.is_empty() && self.unexpected.is_empty() && !self.has_stale() && !self.vacuous
    }

    /// How many engines give an answer.
    pub(super) fn speakers(&self) -> usize {
        let says = |engine: &&String| {
            self.outcomes.get(*engine).is_none_or(|outcome| {
                matches!(
                    outcome.outcome,
                    OutcomeKind::Finished
                        | OutcomeKind::Rejected
                        | OutcomeKind::Trapped
                        | OutcomeKind::Crashed
                )
            })
        };
        self.engines.iter().filter(says).count()
    }

    /// Whether the case passes the gate.
    pub fn passes(&self) -> bool {
        self.expected && !self.vacuous || self.is_in_baseline()
    }

    /// Whether it is not as expected, and all of that is in the baseline.
    pub fn is_in_baseline(&self) -> bool {
        let against = self.against.as_deref();
        against.is_some_and(|against| !against.same.is_empty() && against.new.is_empty())
    }

    /// The area: the first part of the id.
    pub fn area(&self) -> &str {
        self.case.split(['/', ':']).next().unwrap_or_default()
    }
}
