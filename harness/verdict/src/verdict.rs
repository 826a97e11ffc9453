//! The verdict on a case: in one word, who is wrong, how each engine stands, and who differs from whom. See [`crate::trial`]
//! for the rules, and [`crate::expectation`] for expectations.

use std::fmt;

use cerith_case::VerdictKind;
use cerith_engine::EngineId;
use cerith_tile::quirk::Quirks;
use cerith_tile::quirk::signature::BugSignature;
use serde::{Deserialize, Serialize};

use crate::difference::{Bytes, Comparison, Spans};

/// How one engine stands after the trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// In the camp that is judged right.
    Agrees,
    /// In another one.
    Differs,
    /// In none: its own launches do not agree.
    Nondeterministic,
    /// The program has no defined answer.
    Undefined,
    /// It has no outcome, or its outcome cannot be judged.
    Silent,
}

/// How two engines differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Other bytes in a storage.
    #[default]
    Memory,
    /// Bytes outside of every storage were written.
    Guard,
    /// One rejects what another one runs.
    Acceptance,
    /// One raised, or an assert failed, where another one did not.
    Trap,
    /// The engine's process died.
    Crash,
    /// Launches of one engine left other bytes.
    Nondeterminism,
    /// In a sweep: bytes between the elements of a layout were written.
    Padding,
    /// In a sweep: one did not end in time.
    Time,
    /// The reference's contents are not those that the case file gives.
    Given,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Kind {
    /// The word that reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Guard => "guard",
            Self::Acceptance => "acceptance",
            Self::Trap => "trap",
            Self::Crash => "crash",
            Self::Nondeterminism => "nondeterminism",
            Self::Padding => "padding",
            Self::Time => "time",
            Self::Given => "given",
        }
    }
}

/// Two engines that disagree; the one taken to be right comes first.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The engine that the other is compared with; the same engine where its own launches differ.
    pub baseline: EngineId,
    /// Who differs from it.
    pub engine: EngineId,
    /// How it differs.
    pub kind: Kind,
    /// The bytes, where both finished.
    pub comparison: Option<Comparison>,
    /// The known bugs whose models explain it.
    pub explained: Quirks,
    /// The known bug that its message shows, if it left no bytes. Without either, the difference is new.
    pub known_bug: Option<&'static BugSignature>,
}

/// The result of the trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// In one word.
    pub kind: VerdictKind,
    /// Who is wrong.
    pub blame: Vec<EngineId>,
    /// Whether it depends on the reference alone.
    pub unconfirmed: bool,
    /// Why the reference is blamed though no two independent engines agree against it: what confirmed it, or once agreed with it,
    /// is reason enough to suspect it.
    pub suspected: Option<String>,
    /// Further remarks on the witnesses, a sentence each.
    pub notes: Vec<String>,
    /// How each engine stands, in the order given.
    pub standings: Vec<(EngineId, Standing)>,
    /// Who differs from whom, and how.
    pub differences: Vec<Difference>,
    /// The reason why it is undefined or inconclusive.
    pub reason: Option<String>,
    /// Whether the trial compared nothing that the program computed.
    pub vacuous: bool,
    /// The bytes of all pairs, counted by result.
    pub bytes: Bytes,
    /// Engines without blame that have undecided bytes, with those bytes.
    pub undecided: Vec<(EngineId, Spans)>,
}

impl Verdict {
    /// How an engine stands.
    pub fn find_standing(&self, id: &EngineId) -> Option<Standing> {
        self.standings
            .iter()
            .find(|(known, _)| known == id)
            .map(|&(_, standing)| standing)
    }

    /// The known bugs that explain an engine's differences. Empty if a difference is new.
    pub fn collect_quirks(&self, id: &EngineId) -> Quirks {
        let mut differences = self.differences.iter().filter(|one| one.engine == *id).peekable();
        if differences.peek().is_none() || differences.clone().any(|one| one.explained.is_empty()) {
            return Quirks::NONE;
        }
        differences.flat_map(|one| one.explained.iter()).collect()
    }
}
