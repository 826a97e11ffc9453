//! The events of a run. Every report is printed from them, and they are a public, versioned interface (`docs/events.md`, which a
//! test compares with these types).
//!
//! A stream is one JSON object per line: a `start`, then `problem`, `verdict` (of a sweep `sweep`) and `internal` events in the order of
//! the corpus whatever the number of jobs, then a `summary`. A stream whose run was killed ends early, in whole lines,
//! and is an error to [`crate::Joined`] and [`crate::Junit`].
//! Fields may be added within a [`FORMAT`]; readers ignore those that they do not know. Fields that hold nothing are
//! left out.
//!
//! Added to formats 3 and 4 later: `exhibit` of verdicts (what a report shows of a case: program, memory, lines); `compiled` of
//! verdicts; `corpus`, `corpus_hash`, `total`, `allow_unavailable`, `baseline` and `last_failed` of starts; `against` of
//! verdicts; `in_baseline`, `mended` and `not_run` of summaries. Older streams have none of these fields: a report shows what
//! they have, and a merge reports missing facts.
//!
//! See [`crate::describe`] for making events from outcomes; the printers show them.

mod compiled;
mod exhibit;
mod word;

use cerith_verdict::stage;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

pub use compiled::{Compiled, CompiledKernel, Scratch};
pub use exhibit::{
    Contents, Deduplicator, Differs, Exhibit, KnownBug, Launch, Left, Mark, Storage, Text, View,
};
pub use word::{Severity, State};

/// The version of the stream of a run, in its `start` event. Raised when a field is removed or changes its meaning, or
/// when an event is added or removed. Since 3 (for sweeps, since 4) `bytes` replaces `compared`, `undefined` and
/// `accepted`, which counted elements. Since 5 (for sweeps, since 6) the summary has a `seal`.
pub const FORMAT: u32 = 5;

/// The version of a stream with `sweep` events.
pub const SWEEPS: u32 = 6;

/// The first version whose summaries have a [`Seal`].
pub(crate) const SEALED: u32 = 5;

pub use cerith_case::{OutcomeKind, VerdictKind};
pub use cerith_engine::{NO_RECORDING, OTHER_CODE, STALE_RECORDING};
pub use cerith_verdict::Kind;

/// One line of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "a stream has one start")]
pub enum Event {
    /// The beginning of a run.
    Start(Start),
    /// An error or warning about the input: a case file, a kernel, an argument.
    Problem(Problem),
    /// One case was judged.
    Verdict(Box<Verdict>),
    /// One engine's variants of one case were judged: a verdict whose `engines` are the variants, with [`Verdict::sweep`].
    Sweep(Box<Verdict>),
    /// Cerith itself failed. Never a verdict about an engine.
    Internal(Internal),
    /// The end of the run, in numbers.
    Summary(Summary),
}

impl Event {
    /// The word that each kind of event has in a stream. `docs/events.md` has a row for each.
    pub const NAMES: [&str; 6] = ["start", "problem", "verdict", "sweep", "internal", "summary"];

    /// Its word in a stream.
    pub const fn name(&self) -> &'static str {
        let [start, problem, verdict, sweep, internal, summary] = Self::NAMES;
        match self {
            Self::Start(_) => start,
            Self::Problem(_) => problem,
            Self::Verdict(_) => verdict,
            Self::Sweep(_) => sweep,
            Self::Internal(_) => internal,
            Self::Summary(_) => summary,
        }
    }
}

/// The beginning of a run: its engines and cases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "these are fields of a public format"
)]
pub struct Start {
    /// [`FORMAT`].
    pub format: u32,
    /// Cerith's version; under its old name in older streams.
    #[serde(alias = "conch")]
    pub cerith: String,
    /// The engines, in the order of columns.
    pub engines: Vec<String>,
    /// Whether the engines are the default ones.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_default: bool,
    /// Engines that would have run but cannot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Engines that replay from records, because there is no GPU; cases without a record only show their compiler's
    /// rejections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<String>,
    /// The axes of a sweep: `num_warps=1,8`, or `layout` for all of its values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<String>,
    /// Cases that will run.
    pub cases: u64,
    /// Cases of the whole run, of which `cases` are this shard's.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub total: u64,
    /// `fast`, when the reference does not watch for races, conflicting lanes and false promises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<String>,
    /// `zero`, when lanes that a load masks off without `other` are zero to the reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masked: Option<String>,
    /// How many other orders of its programs the reference launches each case in.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub schedules: u32,
    /// The folder of case files, as the user named it; empty where it was found.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub corpus: String,
    /// A hash of the corpus: of the paths of its case files, kernels and data archives, and of the texts of the first two.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub corpus_hash: String,
    /// Whether engines without an outcome are allowed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub allow_unavailable: bool,
    /// The baseline that the run is compared with, as the user named it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub baseline: String,
    /// Whether only cases run that were not as expected in the run before.
    #[serde(default, skip_serializing_if = "is_false")]
    pub last_failed: bool,
    /// Whether filters or `--last-failed` exclude cases of the corpus.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
    /// The filters given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// `I/N`, when only a part of the cases runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
}

/// An engine that would have run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its id.
    pub engine: String,
    /// The reason, with a fix.
    pub why: String,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Position {
    /// The path, as a user would write it.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// In characters, from 1; left out where only the line is known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub column: u32,
    /// The line's text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// Bad input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// The kind of problem, a stable word.
    pub code: String,
    /// One line.
    pub message: String,
    /// The location.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// How to fix it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// All of it with the source lines, as rustc would show it.
    pub rendered: String,
}

/// A failure of Cerith.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Internal {
    /// The case that it happened in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// The engine that it happened in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// The message.
    pub message: String,
}

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
    #[serde(default, skip_serializing_if = "is_false")]
    pub unconfirmed: bool,
    /// Why the reference is blamed where no two independent engines agree against it.
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
    #[serde(default, skip_serializing_if = "is_false")]
    pub vacuous: bool,
    /// Why it is undefined or inconclusive.
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
    /// How it compares with the run's baseline, where either has something that is not as expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Box<Against>>,
    /// Fields of sweeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Box<Sweep>>,
    /// The figures of compiled code, by engine, if a command requests them (`cerith bump --engine cuda`).
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub compiled: IndexMap<String, Compiled>,
    /// The exhibit for reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exhibit: Option<Box<Exhibit>>,
}

/// The stage of Triton's compiler that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// The blamed engines whose code the compiler made.
    pub engines: Vec<String>,
    /// The first stage that may be wrong.
    pub first: stage::Stage,
    /// The first stage whose output is known to be wrong: `first` itself, unless stages between them have no
    /// outcome.
    pub last: stage::Stage,
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

    fn is_nothing(&self) -> bool {
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
    /// The kernel's printed text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<String>,
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
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub elements: u64,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<Element>,
    /// The known bugs that explain it, by name: with them, the reference produces the engine's bytes. None if the difference
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
    #[serde(default, skip_serializing_if = "is_false")]
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
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub accepted: u64,
    /// Bytes with other bits that may or may not be a conforming implementation's result.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub undecided: u64,
    /// Left out, because they have no defined value.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub undefined: u64,
}

impl Bytes {
    /// Whether any byte was looked at, with whatever result.
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
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub nondeterministic: u64,
    /// Cases whose program has no defined answer.
    pub undefined: u64,
    /// Cases without a known culprit.
    pub inconclusive: u64,
    /// Cases with a difference, or an undefined program, that no expectation covers.
    pub unexpected: u64,
    /// Cases in which an engine had to answer and did not.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub silent: u64,
    /// Cases in which at most one engine answered.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub alone: u64,
    /// Whether the engines are the default ones.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_default: bool,
    /// Cases with an expectation that no longer happens.
    #[serde(default)]
    pub stale: u64,
    /// Cases whose trial compared nothing that the program computed.
    #[serde(default)]
    pub vacuous: u64,
    /// Cases in which the blame depends on the reference alone.
    #[serde(default)]
    pub unconfirmed: u64,
    /// Differences that known bugs explain, by the bugs' names. A difference that several bugs explain together counts for each.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub known: IndexMap<String, u64>,
    /// Differences that no known bug explains.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub unexplained: u64,
    /// Recorded outcomes that were not used, because they are of a different kernel or layout.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub stale_recordings: u64,
    /// Cases in which the reference is to blame: our own bug.
    #[serde(default)]
    pub reference_blamed: u64,
    /// The bytes of all pairs of outcomes in all cases, counted by result.
    #[serde(default)]
    pub bytes: Bytes,
    /// Cases with bytes that were not compared because they have no defined value, though something else was.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub left_out: u64,
    /// The number of these cases in which a whole tensor was not compared.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub left_out_whole: u64,
    /// Cases that are not as expected, as in the baseline. They do not fail the run.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub in_baseline: u64,
    /// Cases in which a difference from the baseline is fixed.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub mended: u64,
    /// Cases that were not judged because the run had failed often enough.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub not_run: u64,
    /// Errors in the input.
    #[serde(default)]
    pub problems: u64,
    /// Failures of Cerith itself.
    #[serde(default)]
    pub internal: u64,
    /// Failures to write the stream or a report.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
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
    #[serde(default, skip_serializing_if = "is_false")]
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
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_false(value: &bool) -> bool {
    !*value
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_zero(value: &u32) -> bool {
    *value == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_zero_u64(value: &u64) -> bool {
    *value == 0
}

impl Problem {
    /// A problem without a location in a file, with a fix.
    pub fn new(severity: Severity, code: &str, message: impl Into<String>, help: &str) -> Self {
        let message = message.into();
        Self {
            severity,
            code: code.to_owned(),
            rendered: format!("{severity}[{code}]: {message}\n  = help: {help}"),
            message,
            position: None,
            help: Some(help.to_owned()),
        }
    }
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

    /// Whether it fails only because an engine gives no answer.
    pub fn is_only_silent(&self) -> bool {
        !self.silent.is_empty() && self.unexpected.is_empty() && !self.has_stale() && !self.vacuous
    }

    /// How many engines give an answer.
    fn speakers(&self) -> usize {
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
        self.unexpected + self.silent + self.stale + self.vacuous + self.internal
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
