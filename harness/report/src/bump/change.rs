//! How a case changed from one version to the next. See [`super::cause`] for the causes.

use serde::Serialize;

use crate::correctness::{Correctness, Wrong};
use crate::event::OutcomeKind;

/// How a case changed. The worst comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It was right and is wrong.
    Broke,
    /// It ran, rightly or not, and is rejected, which it should not be.
    NewlyRejected,
    /// It was wrong before, and is wrong in a different way.
    Changed,
    /// It had a defined answer and has none.
    NewlyUndefined,
    /// A rule of the language changed, and both versions go by their own.
    RuleChanged,
    /// It was rejected, which it should not have been, and is right.
    NewlyAccepted,
    /// It was wrong and is right.
    Fixed,
    /// It had no defined answer and has one.
    NewlyDefined,
    /// Besides any other change: it is launched with other parameters, warps or memory.
    SignatureChanged,
    /// Besides any other: its kernel's machine code is smaller or larger, beyond noise.
    SizeChanged,
    /// Besides any other: compiling its kernel takes less or more time, beyond noise.
    TimeChanged,
    /// It was wrong and is wrong in the same way.
    StillWrong,
    /// It cannot be compared: one of the two has no outcome.
    NotCompared,
    /// Nothing changed, and nothing is wrong.
    Unchanged,
}

impl Change {
    /// All, the worst first.
    pub const ALL: [Self; 14] = [
        Self::Broke,
        Self::NewlyRejected,
        Self::Changed,
        Self::NewlyUndefined,
        Self::RuleChanged,
        Self::NewlyAccepted,
        Self::Fixed,
        Self::NewlyDefined,
        Self::SignatureChanged,
        Self::SizeChanged,
        Self::TimeChanged,
        Self::StillWrong,
        Self::NotCompared,
        Self::Unchanged,
    ];

    /// As users write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Broke => "broke",
            Self::NewlyRejected => "newly-rejected",
            Self::Changed => "changed",
            Self::NewlyUndefined => "newly-undefined",
            Self::RuleChanged => "rule-changed",
            Self::NewlyAccepted => "newly-accepted",
            Self::Fixed => "fixed",
            Self::NewlyDefined => "newly-defined",
            Self::SignatureChanged => "signature-changed",
            Self::SizeChanged => "size-changed",
            Self::TimeChanged => "time-changed",
            Self::StillWrong => "still-wrong",
            Self::NotCompared => "not-compared",
            Self::Unchanged => "unchanged",
        }
    }

    /// The meaning, in a few words.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Broke => "right before, wrong now",
            Self::NewlyRejected => "ran or compiled before, wrongly rejected now",
            Self::Changed => "wrong before, and wrong in another way now",
            Self::NewlyUndefined => "no longer has a defined answer",
            Self::RuleChanged => "means something else: a rule of the language changed",
            Self::NewlyAccepted => "wrongly rejected before; right now, or compiled and not executed",
            Self::Fixed => "wrong before, right now",
            Self::NewlyDefined => "has a defined answer now",
            Self::SignatureChanged => "is launched with other parameters, warps or memory",
            Self::SizeChanged => "the size of the machine code changed, beyond noise",
            Self::TimeChanged => "the compile time changed, beyond noise",
            Self::StillWrong => "as wrong as before",
            Self::NotCompared => "one of the two has no outcome",
            Self::Unchanged => "right before and now",
        }
    }

    /// Whether something changed.
    pub const fn is_news(self) -> bool {
        !matches!(self, Self::StillWrong | Self::NotCompared | Self::Unchanged)
    }

    /// Whether it is a change of the compiled code, which a case may have besides another change.
    pub const fn is_of_compiling(self) -> bool {
        matches!(
            self,
            Self::SignatureChanged | Self::SizeChanged | Self::TimeChanged
        )
    }

    /// How a case changed. `rules` says whether a rule of the language that changes the case's meaning came between the two
    /// versions.
    pub(super) fn from_correctness(old: &Correctness, new: &Correctness, rules: bool) -> Self {
        use Correctness::{Right, Silent, Undefined, Wrong};
        match (old, new) {
            (Silent { .. }, _) | (_, Silent { .. }) => Self::NotCompared,
            (Undefined, Undefined) => Self::Unchanged,
            (Undefined, _) => Self::NewlyDefined,
            (_, Undefined) => Self::NewlyUndefined,
            (Right { outcome: old }, Right { outcome: new }) if rules || old != new => Self::RuleChanged,
            (Right { .. }, Right { .. }) => Self::Unchanged,
            (Right { .. }, Wrong(new)) if new.outcome == OutcomeKind::Rejected => Self::NewlyRejected,
            (Right { .. }, Wrong(_)) => Self::Broke,
            (Wrong(old), Right { .. }) if old.outcome == OutcomeKind::Rejected => Self::NewlyAccepted,
            (Wrong(_), Right { .. }) => Self::Fixed,
            (Wrong(old), Wrong(new)) if is_same_failure(old, new) => Self::StillWrong,
            (Wrong(old), Wrong(new))
                if new.outcome == OutcomeKind::Rejected && old.outcome != OutcomeKind::Rejected =>
            {
                Self::NewlyRejected
            }
            (Wrong(_), Wrong(_)) => Self::Changed,
        }
    }
}

impl Change {
    /// The change if one of the two has no outcome because nothing executed its code: whether each compiles still
    /// counts.
    pub(super) fn between_compilers(old: &Correctness, new: &Correctness, compiles: [bool; 2]) -> Self {
        use Correctness::{Silent, Wrong};
        match (old, new, compiles) {
            (Silent { .. }, Wrong(new), [true, false]) if new.outcome == OutcomeKind::Rejected => {
                Self::NewlyRejected
            }
            (Wrong(old), Silent { .. }, [false, true]) if old.outcome == OutcomeKind::Rejected => {
                Self::NewlyAccepted
            }
            _ => Self::NotCompared,
        }
    }
}

/// Whether two versions are wrong in the same way.
fn is_same_failure(old: &Wrong, new: &Wrong) -> bool {
    // Messages of one bug change from version to version; its name does not.
    if !old.known_bugs.is_empty() && old.known_bugs == new.known_bugs && old.kind == new.kind {
        return true;
    }
    (&old.kind, &old.outcome, &old.message) == (&new.kind, &new.outcome, &new.message)
        && old.known_bugs == new.known_bugs
        && old.elements == new.elements
        && old.has_elements_of(new)
}
