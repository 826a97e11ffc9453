//! The outcome of one case, as a record stores it. See `book` for the file, and [`super::Release`] for the compiler.

use cerith_case::Case;
use cerith_tile::fault::{Fault, is_planted};
use serde::{Deserialize, Serialize};

use super::change::{Change, ChangeError, apply, find_changes};
use cerith_engine::{Complaint, Finished, Outcome, Position, Remembered, Trap, extract_compiler_cause};

/// The GPU, driver, Triton and date of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Provenance {
    /// The GPU's name.
    pub gpu: String,
    /// The driver's version, as CUDA numbers it: `13.0`.
    pub driver: String,
    /// The Triton that compiled. A file has it beside each record instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub triton: String,
    /// The day, `2026-11-20`.
    pub date: String,
    /// The Cerith that executed; under its old name in older files.
    #[serde(alias = "conch")]
    pub cerith: String,
}

/// The outcome of one case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The case's id.
    pub case: String,
    /// The beginning of [`Case::source_hash`].
    pub source: String,
    /// The beginning of [`Case::layout_hash`].
    pub layout: String,
    /// The beginning of the hash of all machine code; nothing where none was made.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cubin: String,
    /// The position of its [`Provenance`] in the file.
    #[serde(rename = "by")]
    pub(super) provenance: usize,
    /// Whether the reference agreed with it when it was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) agreed: Option<Agreed>,
    /// The outcome.
    #[serde(flatten)]
    pub(super) stored: StoredOutcome,
}

/// Whether the reference agreed with a record when it was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Agreed {
    Yes,
    Undecided,
    No,
    Unknown,
}

/// A recorded outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub(super) enum StoredOutcome {
    Finished {
        /// The number of times that the case ran.
        times: u32,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<Change>,
        /// Differences from this result in the first repetition that has any.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unsteady: Vec<Change>,
    },
    Rejected(Words),
    Asserted(Words),
    Trapped(Words),
    Unsupported(Words),
    Exhausted(Words),
    Crashed(Words),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Words {
    kind: String,
    message: String,
    /// The file, where it is not the kernel's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The line, if known; not compared, because it moves when the lines above it change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    launch: Option<usize>,
    /// The file of Triton's that raised it; not compared, because records of before have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raised: Option<String>,
    /// The part of a compiler's output that names the cause of its failure ([`extract_compiler_cause`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
}

impl Record {
    /// The record of an outcome; `None` if the engine was unavailable. `times` is how often the case ran.
    pub fn from_outcome(case: &Case, cubin: &str, outcome: &Outcome, times: u32) -> Option<Self> {
        let words = |complaint: &Complaint| Words {
            kind: complaint.kind.clone(),
            message: normalize_message(&complaint.message),
            file: complaint
                .position
                .as_ref()
                .map(|position| position.file.clone())
                .filter(|file| *file != case.module.file.name),
            line: complaint.position.as_ref().map(|position| position.line),
            launch: complaint.launch,
            raised: complaint.raised.clone(),
            cause: None,
        };
        let failure = |complaint: &Complaint| Words {
            cause: complaint
                .detail
                .as_deref()
                .and_then(extract_compiler_cause)
                .map(|cause| normalize_message(&cause)),
            ..words(complaint)
        };
        let stored = match outcome {
            Outcome::Finished(finished) => StoredOutcome::Finished {
                times,
                changed: find_changes(&case.memory(), &finished.memory),
                unsteady: finished
                    .unsteady
                    .as_ref()
                    .map_or_else(Vec::new, |other| find_changes(&finished.memory, other)),
            },
            Outcome::Rejected(complaint) => StoredOutcome::Rejected(failure(complaint)),
            Outcome::Trapped(Trap::Assert, complaint) => StoredOutcome::Asserted(words(complaint)),
            Outcome::Trapped(_, complaint) => StoredOutcome::Trapped(words(complaint)),
            Outcome::Unsupported(complaint) => StoredOutcome::Unsupported(words(complaint)),
            Outcome::Exhausted(complaint) => StoredOutcome::Exhausted(words(complaint)),
            Outcome::Crashed(complaint) => StoredOutcome::Crashed(failure(complaint)),
            Outcome::Unavailable(_) => return None,
        };
        Some(Self {
            case: case.id.clone(),
            source: shorten_hash(case.source_hash()),
            layout: shorten_hash(case.layout_hash()),
            cubin: cubin.chars().take(HASH).collect(),
            provenance: 0,
            agreed: None,
            stored,
        })
    }

    /// Adds how the outcome compared with the reference.
    #[must_use]
    pub fn with_agreement(mut self, remembered: Remembered) -> Self {
        self.agreed = Some(match remembered {
            Remembered::Agreed => Agreed::Yes,
            Remembered::Undecided => Agreed::Undecided,
            Remembered::Differed => Agreed::No,
        });
        self
    }

    /// The outcome in a word.
    pub const fn word(&self) -> &'static str {
        match self.stored {
            StoredOutcome::Finished { .. } => "finished",
            StoredOutcome::Rejected(_) => "rejected",
            StoredOutcome::Asserted(_) | StoredOutcome::Trapped(_) => "trapped",
            StoredOutcome::Unsupported(_) => "unsupported",
            StoredOutcome::Exhausted(_) => "exhausted",
            StoredOutcome::Crashed(_) => "crashed",
        }
    }

    /// The part of the case that changed since it was recorded: its kernel source, or its layout.
    pub fn find_mismatch(&self, case: &Case) -> Option<&'static str> {
        let hashes = [
            ("kernel source", &self.source, shorten_hash(case.source_hash())),
            ("layout", &self.layout, shorten_hash(case.layout_hash())),
        ];
        let mut other = hashes.into_iter().filter(|(_, recorded, now)| *recorded != now);
        other
            .next()
            .map(|(what, ..)| what)
            .filter(|_| !is_planted(Fault::StaleRecordsTaken))
    }

    /// The outcome, laid out for a case.
    ///
    /// # Errors
    /// It is of another case.
    pub fn to_outcome(&self, case: &Case) -> Result<Outcome, ChangeError> {
        let complaint = |words: &Words| {
            let kernels = &case.module.file;
            Box::new(Complaint {
                position: words.line.map(|line| Position {
                    file: words.file.clone().unwrap_or_else(|| kernels.name.clone()),
                    line,
                    column: 0,
                    text: match words.file {
                        None => kernels.line(line).to_owned(),
                        Some(_) => String::new(),
                    },
                }),
                launch: words.launch,
                raised: words.raised.clone(),
                detail: words.cause.clone(),
                ..Complaint::new(words.kind.clone(), words.message.clone())
            })
        };
        Ok(match &self.stored {
            StoredOutcome::Finished {
                changed, unsteady, ..
            } => {
                let mut memory = case.memory();
                let kept = changed.len()
                    - usize::from(changed.len() > 1 && is_planted(Fault::RecordsLoseLastChange));
                apply(&changed[..kept], &mut memory)?;
                let other = if unsteady.is_empty() {
                    None
                } else {
                    let mut other = memory.clone();
                    apply(unsteady, &mut other)?;
                    Some(Box::new(other))
                };
                Outcome::Finished(Box::new(Finished {
                    memory,
                    tracked: None,
                    unsteady: other,
                    printed: Vec::new(),
                    remark: None,
                    execution: None,
                }))
            }
            StoredOutcome::Rejected(words) => Outcome::Rejected(complaint(words)),
            StoredOutcome::Asserted(words) => Outcome::Trapped(Trap::Assert, complaint(words)),
            StoredOutcome::Trapped(words) => Outcome::Trapped(Trap::Raised, complaint(words)),
            StoredOutcome::Unsupported(words) => Outcome::Unsupported(complaint(words)),
            StoredOutcome::Exhausted(words) => Outcome::Exhausted(complaint(words)),
            StoredOutcome::Crashed(words) => Outcome::Crashed(complaint(words)),
        })
    }

    /// Whether two records of the same kernel and layout have the same outcome. Lines of a file move, and do not count; nor
    /// does which thread of many was the first to fault. A cause counts if both have one, because older records have none.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        let has_causes = self.cause().is_some() && other.cause().is_some();
        let still = |stored: &StoredOutcome| {
            let mut stored = stored.clone();
            match &mut stored {
                StoredOutcome::Finished { times, .. } => *times = 0,
                StoredOutcome::Asserted(words) => {
                    (words.line, words.message, words.raised) = (None, String::new(), None);
                }
                StoredOutcome::Rejected(words)
                | StoredOutcome::Trapped(words)
                | StoredOutcome::Unsupported(words)
                | StoredOutcome::Exhausted(words)
                | StoredOutcome::Crashed(words) => (words.line, words.raised) = (None, None),
            }
            if let Some(words) = stored.words_mut().filter(|_| !has_causes) {
                words.cause = None;
            }
            stored
        };
        still(&self.stored) == still(&other.stored)
    }

    /// The cause of a compiler's failure.
    fn cause(&self) -> Option<&String> {
        match &self.stored {
            StoredOutcome::Rejected(words) | StoredOutcome::Crashed(words) => words.cause.as_ref(),
            _ => None,
        }
    }

    /// Takes the cause of a record with the same outcome, if this one has none. Returns whether it did.
    pub(super) fn add_cause(&mut self, other: &Self) -> bool {
        let cause = other.cause().filter(|_| self.cause().is_none()).cloned();
        match (self.stored.words_mut(), cause) {
            (Some(words), Some(cause)) => {
                words.cause = Some(cause);
                true
            }
            _ => false,
        }
    }
}

impl StoredOutcome {
    const fn words_mut(&mut self) -> Option<&mut Words> {
        match self {
            Self::Finished { .. } => None,
            Self::Rejected(words)
            | Self::Asserted(words)
            | Self::Trapped(words)
            | Self::Unsupported(words)
            | Self::Exhausted(words)
            | Self::Crashed(words) => Some(words),
        }
    }
}

/// A message without what differs from machine to machine and from run to run: folders, names of temporary files, and
/// addresses of Python's objects.
pub fn normalize_message(message: &str) -> String {
    let in_path = |c: char| c.is_ascii_alphanumeric() || "/._+-".contains(c);
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(start) = rest.find(in_path) {
        let (before, word) = rest.split_at(start);
        let (word, behind) = word.split_at(word.find(|c| !in_path(c)).unwrap_or(word.len()));
        text.push_str(before);
        rest = behind;
        let name = if word.starts_with('/') && word.len() > 1 {
            word.rsplit('/').next().unwrap_or(word)
        } else {
            word
        };
        let made_up = name
            .strip_prefix("tmp")
            .filter(|made_up| made_up.len() >= RANDOM && made_up.is_char_boundary(RANDOM));
        if let Some(made_up) = made_up.filter(|_| word.starts_with('/')) {
            text.push_str("tmp…");
            text.push_str(made_up.get(RANDOM..).unwrap_or_default());
        } else if name.starts_with("0x") && name.len() > 2 + RANDOM {
            text.push_str("0x…");
        } else {
            text.push_str(name);
        }
    }
    text.push_str(rest);
    text
}

/// Characters that Python's `tempfile` makes up; addresses of objects have more digits.
const RANDOM: usize = 8;

/// Characters of a hash that are kept: 64 bits.
const HASH: usize = 16;

pub(super) fn shorten_hash(hash: impl std::fmt::Display) -> String {
    hash.to_string().chars().take(HASH).collect()
}
