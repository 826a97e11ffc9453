//! The outcome of one engine for one case. See `cerith-verdict` for whether it is right.

use cerith_case::OutcomeKind;
use cerith_interp::StorageSet;
use cerith_memory::{ByteState, Memory};
use cerith_tile::diagnostic::Misspelling;
pub use cerith_toolchain::response::Frame;

use crate::execution::Execution;

/// The kind of complaint about a recorded outcome that is not used, because it is of another kernel or layout.
pub const STALE_RECORDING: &str = "stale-recording";

/// The kind of complaint of a compiler without a GPU, if there is no record of the case.
pub const NO_RECORDING: &str = "no-recording";

/// The kind of complaint of such a compiler, if the file of its records cannot be read.
pub const DAMAGED_RECORDING: &str = "damaged-recording";

/// The kind of complaint of such a compiler, if the case has records, but none for the machine code that it compiles to.
pub const OTHER_CODE: &str = "other-machine-code";

/// The kind of complaint about IR that MLIR's verifier does not take: the compiler made it, and its first pass would reject it.
pub const INVALID_IR: &str = "invalid-ir";

/// The kind of complaint of a file that cannot be loaded, because a module that it imports is not there.
pub const MODULE_NOT_FOUND: &str = "module-not-found";

/// The kind of complaint of an engine, if no worker of its toolchain starts.
pub const NO_WORKER: &str = "no-worker";

/// A position in a file that a user can open.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// The path as a user would write it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1; 0 where only the line is known.
    pub column: u32,
    /// The line's text; empty where it is not known.
    pub text: String,
}

/// The reason why an engine did not finish, or not wholly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// A stable name of the kind: a diagnostic's code (`out-of-bounds`) or a Python exception's type
    /// (`AttributeError`).
    pub kind: String,
    /// The message, usually one line.
    pub message: String,
    /// The place in the kernel, where known.
    pub position: Option<Position>,
    /// More for a reader: the rendered diagnostic or the traceback.
    pub detail: Option<String>,
    /// The launch of the case, from 0, if it is known.
    pub launch: Option<usize>,
    /// For a Python exception, the file of Triton's that raised it, from the folder that holds the package
    /// (`triton/language/semantic.py`). It is empty if no file of Triton's raised it, and `None` if unknown.
    pub raised: Option<String>,
    /// For a Python exception, the part of the program that contains the position, if known.
    pub frame: Option<Frame>,
    /// The lines of source that a diagnostic shows, those of its primary span first.
    pub lines: Vec<SourceLines>,
    /// The storages that it is about, by name.
    pub storages: Vec<String>,
    /// Whether a pass of a compiler rejects the program, after its front end accepts it. Known of the reference only.
    pub is_by_pass: bool,
    /// The name that the program uses and nothing defines, if that is the fault. Known of the reference only.
    pub misspelling: Option<Misspelling>,
    /// Whether the compiler accepts the program, which was not executed.
    pub is_compiled: bool,
}

/// Lines of a file that a diagnostic shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLines {
    /// The path as a user would write it.
    pub file: String,
    /// The first line, from 1.
    pub first: u32,
    /// The last line.
    pub last: u32,
    /// The text of the first line and of the last.
    pub text: String,
}

impl Complaint {
    /// Whether a program with this remark has its answer only until an engine produces a different one: the language does not
    /// promise the answer, though every known engine keeps it.
    pub fn doubts(&self) -> bool {
        matches!(self.kind.as_str(), "divisor-mask" | "false-promise")
    }

    /// Whether a program with this remark needs a review, though it has an answer.
    pub fn warns(&self) -> bool {
        matches!(
            self.kind.as_str(),
            "false-promise" | "outside-tensor" | "undefined-value" | "unordered-write"
        )
    }

    /// A complaint with no place.
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            message: message.into(),
            position: None,
            detail: None,
            launch: None,
            raised: None,
            frame: None,
            lines: Vec::new(),
            storages: Vec::new(),
            is_by_pass: false,
            misspelling: None,
            is_compiled: false,
        }
    }
}

/// The result of an engine that finished.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Every storage and the guard zones around them, at the addresses that the case's layout promises, whatever
    /// addresses the engine itself used. An engine that does not track definedness reports every byte as defined.
    pub memory: Memory,
    /// Facts that only the reference has; for other engines every byte is defined.
    pub tracked: Option<Tracked>,
    /// For an engine that launches a case several times, each time from its initial memory: the first result that differs from
    /// `memory`, if one does.
    pub unsteady: Option<Box<Memory>>,
    /// Output of `device_print`, in order. Not compared.
    pub printed: Vec<String>,
    /// The reference's remark about a program with an answer: why some of its bytes have none, or what is still wrong with it.
    /// For an engine that does not track definedness: why bytes that it marks as poison are uninitialised ([`Outcome::settle`]).
    pub remark: Option<Box<Complaint>>,
    /// How PTX was executed here; `None` for other engines.
    pub execution: Option<Box<Execution>>,
}

/// Facts about a finished run from an engine that tracks definedness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tracked {
    /// Bytes written by stores and atomics.
    pub stored: u64,
    /// Bytes of those whose value is undefined.
    pub poisoned: u64,
    /// Whether no written byte has a defined value in the end.
    pub vacuous: bool,
    /// Whether another order of programs may give another result.
    pub order_dependent: bool,
    /// The storages that a hazard can reach. Their bytes are known, and an engine that has others is not to blame.
    pub endangered: StorageSet,
}

/// The reason why a trap ends the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trap {
    /// The program has no defined answer: no engine is blamed.
    Undefined,
    /// A `device_assert` that did not hold. A defined answer.
    Assert,
    /// The engine raised; for a Python engine, an exception.
    Raised,
}

/// The outcome of one engine for one case. Outcomes are values; a failure of Cerith itself is an [`crate::Failure`].
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It ran all launches.
    Finished(Box<Finished>),
    /// A compile-time error.
    Rejected(Box<Complaint>),
    /// Undefined behaviour, an assert, a fault or an exception.
    Trapped(Trap, Box<Complaint>),
    /// The engine reports that it does not support this.
    Unsupported(Box<Complaint>),
    /// Out of time, memory or fuel.
    Exhausted(Box<Complaint>),
    /// The engine's process crashed.
    Crashed(Box<Complaint>),
    /// The engine is not here: no toolchain, no GPU, no recorded outcome.
    Unavailable(Box<Complaint>),
}

impl Outcome {
    /// The word for it, as reports and case files write it.
    pub const fn kind(&self) -> OutcomeKind {
        match self {
            Self::Finished(_) => OutcomeKind::Finished,
            Self::Rejected(_) => OutcomeKind::Rejected,
            Self::Trapped(..) => OutcomeKind::Trapped,
            Self::Unsupported(_) => OutcomeKind::Unsupported,
            Self::Exhausted(_) => OutcomeKind::Exhausted,
            Self::Crashed(_) => OutcomeKind::Crashed,
            Self::Unavailable(_) => OutcomeKind::Unavailable,
        }
    }

    /// The reason why it did not finish, or a remark about its result.
    pub fn complaint(&self) -> Option<&Complaint> {
        match self {
            Self::Finished(finished) => finished.remark.as_deref(),
            Self::Rejected(complaint)
            | Self::Trapped(_, complaint)
            | Self::Unsupported(complaint)
            | Self::Exhausted(complaint)
            | Self::Crashed(complaint)
            | Self::Unavailable(complaint) => Some(complaint),
        }
    }

    /// As [`Self::complaint`], to change it.
    pub fn complaint_mut(&mut self) -> Option<&mut Complaint> {
        match self {
            Self::Finished(finished) => finished.remark.as_deref_mut(),
            Self::Rejected(complaint)
            | Self::Trapped(_, complaint)
            | Self::Unsupported(complaint)
            | Self::Exhausted(complaint)
            | Self::Crashed(complaint)
            | Self::Unavailable(complaint) => Some(complaint),
        }
    }

    /// The memory of a finished engine.
    pub fn finished(&self) -> Option<&Finished> {
        if let Self::Finished(finished) = self {
            Some(finished)
        } else {
            None
        }
    }

    /// Decides whether the uninitialised bytes that an engine left need a value. `known` is the reference's memory. The engine
    /// has finished if the reference gives none of these bytes a value; otherwise its program depends on an uninitialised
    /// register, which is a trap. Without a reference every such byte needs a value.
    pub fn settle(&mut self, known: Option<&Memory>) {
        let Self::Finished(finished) = self else {
            return;
        };
        if finished.tracked.is_some() {
            return;
        }
        let Some(complaint) = finished.remark.take() else {
            return;
        };
        let known = known.map_or(&[][..], |memory| memory.arena().1);
        let (_, left) = finished.memory.arena();
        let needs_value = left.iter().enumerate().any(|(at, state)| {
            *state == ByteState::Poison && known.get(at).is_none_or(|known| *known != ByteState::Poison)
        });
        if needs_value {
            *self = Self::Trapped(Trap::Raised, complaint);
        }
    }

    /// Whether it says anything about the program: an engine that cannot run it, or ran out of something, does not.
    pub const fn speaks(&self) -> bool {
        matches!(
            self,
            Self::Finished(_) | Self::Rejected(_) | Self::Trapped(..) | Self::Crashed(_)
        )
    }
}
