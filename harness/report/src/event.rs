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
mod deduplicator;
mod exhibit;
mod instructions;
mod position;
mod skip;
mod summary;
mod verdict;
mod word;

use serde::{Deserialize, Serialize};

pub use compiled::{Compiled, CompiledKernel, Scratch};
pub use deduplicator::Deduplicator;
pub use exhibit::{Contents, Differs, Exhibit, KnownBug, Launch, Left, Mark, Storage, Text, View};
pub use instructions::Instructions;
pub use position::Position;
pub use summary::{Seal, Summary, Tally, Variants};
pub use verdict::{
    Against, Bytes, Camp, Difference, Element, EngineOutcome, Expectation, Judging, LikeResult, LikeVerdict,
    Misspelling, Rule, Stage, Stoppage, Sweep, Undefined, Verdict,
};
pub use word::{Severity, State};

use skip::is_default;

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
    #[serde(default, skip_serializing_if = "is_default")]
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
    #[serde(default, skip_serializing_if = "is_default")]
    pub total: u64,
    /// `fast`, when the reference does not watch for races, conflicting lanes and false promises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<String>,
    /// `zero`, when lanes that a load masks off without `other` are zero to the reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masked: Option<String>,
    /// How many other orders the reference and `ptx` launch each case in.
    #[serde(default, skip_serializing_if = "is_default")]
    pub schedules: u32,
    /// The folder of case files, as the user named it; empty where it was found.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub corpus: String,
    /// A hash of the corpus: of the paths of its case files, kernels and data archives, and of the texts of the first two.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub corpus_hash: String,
    /// Whether engines without an outcome are allowed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub allow_unavailable: bool,
    /// The baseline that the run is compared with, as the user named it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub baseline: String,
    /// Whether only cases run that were not as expected in the run before.
    #[serde(default, skip_serializing_if = "is_default")]
    pub last_failed: bool,
    /// Whether filters or `--last-failed` exclude cases of the corpus.
    #[serde(default, skip_serializing_if = "is_default")]
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
